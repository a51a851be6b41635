"""What is claimed beside a loader that sets the pace."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.findings.input_paced import input_paced, pace_after_fix_ns
from analyze.findings.model import Finding

#: four workers of sixteen cores: four more at three quarters make a batch every 35 / 1.75 = 20 ms
MANIFEST = {"workers": 4, "host": {"cores_usable": 16}}


def unchanged(program):
    return program


def pace(interval_ms: float = 35.0, *, sets: bool = True) -> pl.DataFrame:
    return pl.DataFrame({"sets_pace": [sets], "interval_ns": [interval_ms * 1e6]})


def finding(detector: str, saving_ms: float, message: str = "", **fields: object) -> Finding:
    given = {"basis": "replayed", "edit": unchanged, "confidence": 0.9, "step_saving_low_ns": saving_ms * 0.9e6, **fields}
    return Finding(
        detector=detector, message=message, step_saving_ns=saving_ms * 1e6, step_saving_high_ns=saving_ms * 1.1e6, **given
    )


STALL = finding("input-pipeline-stall", 5.0)
LAUNCHES = finding("launch-bound", 21.0, "captured they would give back 21 ms (60%) of every step.")


def test_others_claim_what_is_left_until_the_loader_sets_the_pace_again():
    first, second = input_paced([LAUNCHES, STALL], pace(), MANIFEST)
    assert first is STALL
    # 35 - 5 = 30 ms with the loader fixed, and no shorter than 20
    assert (second.step_saving_ns, second.step_saving_low_ns, second.step_saving_high_ns) == (10e6, 0.0, pytest.approx(23.1e6))
    assert second.message == "captured they would give back 10 ms (29%) of every step, once batches come faster."
    assert second.confidence == 0.6
    assert pace_after_fix_ns([LAUNCHES, STALL], pace(), MANIFEST) == pytest.approx(20e6)


def test_a_saving_below_the_new_pace_stays_as_large_but_comes_later():
    small = finding("layout-conversion", 2.0, "It helps.", basis="modelled", edit=None, confidence=0.5)
    _, later = input_paced([STALL, small], pace(), MANIFEST)
    assert (later.step_saving_ns, later.step_saving_low_ns, later.confidence) == (2e6, 0.0, 0.5)
    assert later.message == "It helps; with batches that come faster it would save 2 ms (6%) of every step."


def test_what_leaves_nothing_is_dropped():
    large = finding("input-pipeline-stall", 15.0)
    assert input_paced([LAUNCHES, large], pace(), MANIFEST) == [large]


def test_what_all_ranks_were_played_for_is_left_as_it_is():
    ranks = finding("straggler-rank", 8.0, edit=None)
    assert input_paced([ranks, STALL], pace(), MANIFEST) == [STALL, ranks]


@pytest.mark.parametrize(
    ("given", "findings"), [(None, [LAUNCHES, STALL]), (pace(sets=False), [LAUNCHES, STALL]), (pace(), [LAUNCHES])]
)
def test_nothing_changes_where_the_loader_keeps_up(given, findings):
    assert input_paced(findings, given, MANIFEST) == findings
    assert pace_after_fix_ns(findings, given, MANIFEST) is None
