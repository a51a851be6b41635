"""One rank's memory sets the limit for all."""

from __future__ import annotations

from analyze.analyses.rank_state import COLUMNS
from analyze.engine import Together
from tests.builders import frame
from tests.findings.rank_findings import findings, outcome
from tests.rank_sets import RANK

GB = 10**9


def _run(*peaks, total=80):
    rows = [
        {"rank": rank, "peak_bytes": None if peak is None else peak * GB, "memory_total_bytes": total * GB}
        for rank, peak in enumerate(peaks)
    ]
    return Together({"rank_state": frame((*COLUMNS, RANK), *rows)})


def test_the_fullest_rank_is_named():
    (finding,) = findings(_run(70, 40, 40, 42), "uneven-memory")
    assert (finding.rank, finding.kind) == (0, "note")
    assert finding.message == "Rank 0 uses 70.0 of 80.0 GB where the others use 40.0: it sets the largest batch for all."


def test_of_two_ranks_the_other_one_is_quoted():
    (finding,) = findings(_run(70, 30), "uneven-memory")
    assert "where the others use 30.0" in finding.message


def test_ranks_alike_are_fine():
    assert findings(_run(70, 68, 69), "uneven-memory") == ()


def test_with_room_for_all_nothing_is_limited():
    assert findings(_run(30, 10, 10), "uneven-memory") == ()


def test_unknown_memory_is_said():
    assert outcome(_run(None, None), "uneven-memory").reason == "how much memory each rank uses was not recorded"
