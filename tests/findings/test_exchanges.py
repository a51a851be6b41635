"""Which stretches of the host are waiting for an exchange between ranks?"""

from __future__ import annotations

from analyze.analyses.collective_calls import COLUMNS
from analyze.findings.exchanges import host_exchanges
from tests.builders import frame
from tests.timeline import US, Timeline


def _replay():
    """Calls at 1,000, 2,004 and 3,008: between them the host does nothing that is recorded."""
    line = Timeline()
    with line.step():
        for _ in range(3):
            line.python(1_000)
            line.kernel(10)
    return line.workspace().get("replay")


def _spans(*calls):
    rows = ({"start_ns": start * US, "dur_ns": (end - start) * US, "blocked_ns": blocked * US} for start, end, blocked in calls)
    start, end = host_exchanges(frame(COLUMNS, *rows), _replay())
    return [(round(a / US), round(b / US)) for a, b in zip(start, end, strict=True)]


def test_the_blocked_end_of_a_collective_counts_wherever_it_lies():
    assert _spans((2_500, 5_000, 300)) == [(4_700, 5_000)]


def test_a_stretch_in_which_one_ends_was_spent_waiting_for_it():
    assert _spans((900, 1_500, 0)) == [(1_004, 2_004)]


def test_a_stretch_that_lies_in_one_was_spent_on_it():
    assert _spans((1_050, 4_000, 0)) == [(1_004, 2_004), (2_008, 3_008)]


def test_half_a_stretch_is_not_enough():
    assert _spans((2_500, 4_000, 0)) == []


def test_without_collectives_or_on_a_device_there_is_nothing():
    assert host_exchanges(None, _replay())[0].size == 0
    on_device = frame(COLUMNS, {"start_ns": 0, "dur_ns": 3_000 * US, "blocked_ns": 500 * US, "stream": 20})
    assert host_exchanges(on_device, _replay())[0].size == 0
