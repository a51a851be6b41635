"""Recorded steps that differ by more than unprofiled ones are brought to their evenness, stretch by stretch."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.replay.undisturbed import usual_excess, with_excess
from tests.replay.programs import Call, program

#: three steps of two stretches: 10 and 20, 10 and 80, 40 and 20; they begin at 0, 31 and 121
UNEVEN = program(*(Call(gap=gap, gap_events=3) for gap in (10, 20, 10, 80, 40, 20)), steps=3)
STARTS = np.array([0, 31, 121])


class TestUsualExcess:
    def test_it_is_what_unprofiled_steps_differ_by_too(self) -> None:
        """Recorded: 60 above the shortest; of the unprofiled the quarter that three would miss is 100, the mean 103: 3."""
        unprofiled = np.array([100.0, 100.0, 104.0, 108.0])
        assert usual_excess(np.array([100.0, 160.0, 220.0]), unprofiled) == pytest.approx(3 / 60)

    def test_steps_no_less_even_than_unprofiled_ones_are_as_they_should_be(self) -> None:
        assert usual_excess(np.array([100.0, 101.0]), np.array([90.0, 100.0, 110.0, 150.0])) == 1

    @pytest.mark.parametrize(
        ("recorded", "unprofiled"),
        [([100.0], [90.0, 91.0]), ([100.0, 200.0], []), ([100.0, 200.0], [90.0]), ([100.0, 100.0], [90.0, 91.0])],
    )
    def test_too_few_steps_or_no_excess_say_nothing(self, recorded: list[float], unprofiled: list[float]) -> None:
        assert usual_excess(np.array(recorded), np.array(unprofiled)) == 1


class TestWithExcess:
    def test_each_stretch_comes_down_to_the_shortest_of_its_kind(self) -> None:
        assert with_excess(UNEVEN, STARTS, 0.0).gap.tolist() == [10, 20, 10, 20, 10, 20, 0]

    def test_a_share_of_its_excess_stays(self) -> None:
        assert with_excess(UNEVEN, STARTS, 0.5).gap.tolist() == [10, 20, 10, 50, 25, 20, 0]

    def test_events_and_spans_stay(self) -> None:
        even = with_excess(UNEVEN, STARTS, 0.0)
        assert even.gap_events.tolist() == UNEVEN.gap_events.tolist()
        assert even.call_start.tolist() == UNEVEN.call_start.tolist()

    def test_nothing_changes_where_all_of_it_stays(self) -> None:
        assert with_excess(UNEVEN, STARTS, 1.0) is UNEVEN

    def test_nothing_changes_where_steps_are_of_different_calls(self) -> None:
        assert with_excess(UNEVEN, np.array([0, 31, 161]), 0.0) is UNEVEN

    def test_nothing_changes_where_calls_lie_before_the_steps(self) -> None:
        assert with_excess(UNEVEN, np.array([20, 31, 121]), 0.0) is UNEVEN
