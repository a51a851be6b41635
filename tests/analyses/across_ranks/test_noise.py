"""How much a rank may seem late by chance."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.analyses.across_ranks._noise import FALSE_ALARMS, chance, students_t


def _excess_of_two(steps):
    """Of two ranks, one's excess is the other's lack."""
    return np.array([steps, [-step for step in steps]], dtype=float)


@pytest.mark.parametrize(
    ("tail", "freedom", "value"),
    [(0.005, 4, 4.6041), (0.005, 2, 9.9248), (0.025, 10, 2.2281), (0.00125, 14, 3.6746), (0.005, 1_000_000, 2.5758)],
)
def test_values_are_those_of_the_printed_tables(tail: float, freedom: int, value: float):
    assert students_t(tail, freedom) == pytest.approx(value, rel=1e-3)


def test_five_steps_by_hand():
    # mean 3, deviations -2 … 2 in no order: variance 2.5, its error sqrt(2.5 / 5); neighbours are unlike
    mean, error, most = chance(_excess_of_two([1.0, 5.0, 2.0, 4.0, 3.0]))
    assert mean.tolist() == [3.0, -3.0]
    assert error.tolist() == pytest.approx([0.5**0.5] * 2)
    # Student's t with four degrees of freedom, a quarter of a percent for each of two ranks
    assert most == pytest.approx(5.5976, rel=1e-3)


def test_asking_more_of_a_run_asks_for_more_each_time():
    steps = _excess_of_two([1.0, 5.0, 2.0, 4.0, 3.0])
    assert chance(steps, looks=10)[2] == pytest.approx(students_t(FALSE_ALARMS / 20, 4))
    assert chance(steps, looks=10)[2] > chance(steps)[2]


def test_steps_that_resemble_their_neighbours_count_for_fewer():
    apart, alike = (chance(_excess_of_two(steps))[1][0] for steps in ([1.0, 5.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 4.0, 5.0]))
    # covariance of neighbours 4/10, and 1/5 for the few steps: variance times 1.6/0.4
    assert alike == pytest.approx(2 * apart)


def test_a_step_that_stands_out_neither_makes_a_habit_nor_hides_one():
    steady = [10.0, 11.0, 9.0, 10.5, 9.5]
    mean, error, most = chance(_excess_of_two([*steady, 500.0]))
    assert mean[0] < 12.0
    assert mean[0] > most * error[0]
    mean, error, most = chance(_excess_of_two([0.0, 1.0, -1.0, 0.5, -0.5, 500.0]))
    assert mean[0] <= most * error[0]


def test_a_rank_that_varies_more_is_held_to_its_own_variation():
    quiet = [[0.0, 0.1, -0.1, 0.0, 0.0]] * 3
    _, error, _ = chance(np.array([*quiet, [8.0, -6.0, 9.0, -5.0, 4.0]]))
    assert error[3] > 1.9 * error[0]


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_balanced_runs_are_blamed_as_rarely_as_said(ranks: int):
    random, runs, steps = np.random.default_rng(7), 2_000, 5
    blamed = 0
    for _ in range(runs):
        own = random.standard_normal((ranks, steps))
        excess = np.array([own[rank] - np.median(np.delete(own, rank, axis=0), axis=0) for rank in range(ranks)])
        mean, error, most = chance(excess)
        blamed += bool((mean > most * error).any())
    # moving steps that stand out costs a little
    assert blamed / runs < 4 * FALSE_ALARMS
