"""The rules that every saving obeys: floor, bounds, confidence, and what is left of a symptom."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from analyze.findings.saving import claim_less, digits, modelled, replayed, share_text
from analyze.replay import Replay
from analyze.replay.edits import without_host_regions
from tests.replay.programs import Call, program

if TYPE_CHECKING:
    from analyze.findings.model import Finding

#: 1,000 of host time, in ten stretches of 100 with two events each
REPLAY = Replay(
    program=program(*(Call(gap=100, gap_events=2) for _ in range(10))),
    step_ns=1_000,
    profiled_step_ns=1_000,
    event_cost_ns=(0.0, 0.0, 0.0),
    shown_event_cost_ns=0.0,
    baseline_known=True,
    threads=(("1", "1"),),
)


def without(until: int):
    """The fix that removes the host time up to then."""
    return without_host_regions((np.array([0]), np.array([until])))


def found(until: int, replay: Replay = REPLAY, **fields: object) -> list[Finding]:
    return replayed("a-problem", replay, without(until), message="It costs {saving}.", host_side=True, **fields)


def test_the_saving_is_the_replay_s() -> None:
    (finding,) = found(300)
    assert finding.step_saving_ns == 300
    assert finding.basis == "replayed"
    assert finding.confidence == 0.95
    assert finding.kind == "saving"
    assert finding.message == "It costs 0.0003 ms (30%) of every step."
    assert finding.edit is not None


def test_two_runs_of_a_script_differ_by_more_than_a_small_saving() -> None:
    assert found(19) == []
    assert len(found(21)) == 1
    assert len(found(19, min_share=0.01)) == 1


def test_bounds_spread_both_ways() -> None:
    (finding,) = found(400)
    assert (finding.step_saving_low_ns, finding.step_saving_high_ns) == (pytest.approx(340), pytest.approx(460))
    (narrow,) = found(400, spread=0.05)
    assert (narrow.step_saving_low_ns, narrow.step_saving_high_ns) == (pytest.approx(380), pytest.approx(420))


def test_weaker_and_stronger_fixes_widen_them() -> None:
    (finding,) = found(400, cautious=without(200), optimistic=without(600))
    assert (finding.step_saving_low_ns, finding.step_saving_high_ns) == (pytest.approx(170), pytest.approx(690))


def test_a_cautious_fix_that_gives_more_does_not_narrow_them() -> None:
    (finding,) = found(400, cautious=without(900), optimistic=without(100))
    assert (finding.step_saving_low_ns, finding.step_saving_high_ns) == (pytest.approx(340), pytest.approx(460))


def test_no_bound_leaves_the_step() -> None:
    (finding,) = found(1_000)
    assert finding.step_saving_high_ns == 1_000
    (whole,) = found(30, cautious=without(0))
    assert whole.step_saving_low_ns == 0


def test_a_replay_that_is_off_widens_bounds_and_lowers_confidence() -> None:
    """Off by a tenth: a tenth of the step either way, and 0.2 less sure."""
    (finding,) = found(400, replace(REPLAY, profiled_step_ns=1_000 / 0.9))
    assert finding.confidence == pytest.approx(0.75)
    assert (finding.step_saving_low_ns, finding.step_saving_high_ns) == (pytest.approx(240), pytest.approx(560))


def test_thin_evidence_lowers_confidence() -> None:
    assert found(400, certainty=0.5)[0].confidence == pytest.approx(0.475)


def test_what_recording_may_cost_is_in_the_bounds() -> None:
    """At 0, 10 and 20 an event 400 of 1,000, of 800, of 600 go: always 0.4 of the step."""
    uncertain = replace(REPLAY, event_cost_ns=(0.0, 10.0, 20.0), baseline_known=False)
    (finding,) = found(400, uncertain)
    assert finding.step_saving_ns == pytest.approx(400)
    assert finding.confidence == 0.7


class TestModelled:
    @staticmethod
    def of(saving: float, low: float, high: float, **more: object) -> list[Finding]:
        return modelled("a-problem", 1_000, saving_ns=saving, low_ns=low, high_ns=high, message="{saving}", **more)

    def test_it_is_medium_at_most(self) -> None:
        (finding,) = self.of(300, 200, 400)
        assert (finding.basis, finding.confidence, finding.edit) == ("modelled", 0.6, None)
        assert self.of(300, 200, 400, certainty=0.5)[0].confidence == 0.3

    def test_bounds_are_ordered_and_inside_the_step(self) -> None:
        (finding,) = self.of(300, 350, 250)
        assert (finding.step_saving_low_ns, finding.step_saving_ns, finding.step_saving_high_ns) == (300, 300, 300)
        (finding,) = self.of(2_000, -5, 9_000)
        assert (finding.step_saving_low_ns, finding.step_saving_ns, finding.step_saving_high_ns) == (0, 1_000, 1_000)

    def test_the_floor_holds_here_too(self) -> None:
        assert self.of(19, 0, 40) == []
        assert self.of(25, 0, 40, min_share=0.03) == []


class TestClaimLess:
    whole = found(400)[0]

    def test_bounds_shrink_with_the_claim(self) -> None:
        less = claim_less(self.whole, 100, 1_000)
        assert less.step_saving_ns == 100
        assert less.step_saving_low_ns == pytest.approx(85)
        assert less.step_saving_ns <= less.step_saving_high_ns <= 1_000

    def test_the_sentence_says_so(self) -> None:
        assert claim_less(self.whole, 100, 1_000).message == (
            "It costs 0.0001 ms (10%) of every step, beyond its causes, which are listed too."
        )

    def test_more_than_was_claimed_changes_nothing(self) -> None:
        assert claim_less(self.whole, 500, 1_000) is self.whole


def test_shares_are_rounded_for_reading() -> None:
    assert share_text(12_345_678, 30_000_000) == "12.3 ms (41%) of every step"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.01234, "0.0123"), (12.34, "12.3"), (999.4, "999"), (999.6, "1,000"), (-1234.6, "-1,235"), (0.0, "0")]
)
def test_digits_never_show_an_exponent(value: float, shown: str) -> None:
    assert digits(value) == shown
