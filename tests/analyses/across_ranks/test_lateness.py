"""A rank is slow by its own part of the step, in what it loses most, if that clears the noise."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.analyses.across_ranks._others import others_median
from analyze.analyses.across_ranks.lateness import lateness
from analyze.errors import MissingData
from tests.rank_sets import training

US = 1_000


def _steps(*, noise=0.0, steps=6, **parts):
    """The same parts in every step, the first of them up and down by noise."""
    first = next(iter(parts))
    return [parts | {first: parts[first] + noise * (1 if step % 2 else -1)} for step in range(steps)]


def _late(parts, **more):
    return training(parts, **more).frame("lateness")


def test_the_median_of_the_others_leaves_a_rank_out():
    frame = pl.DataFrame({"step": [0] * 4, "rank": [0, 1, 2, 3], "own": [10, 20, 30, 100]})
    assert frame.select(others_median("own")).to_series().to_list() == [30, 30, 20, 20]
    two = pl.DataFrame({"step": [0, 0], "own": [7, 9]})
    assert two.select(others_median("own")).to_series().to_list() == [9, 7]


@pytest.mark.parametrize("cause", ["input_wait", "gc", "host", "compute", "copy"])
def test_a_slow_rank_is_named_with_its_cause(cause: str):
    usual = {"input_wait": 50.0, "gc": 1.0, "host": 100.0, "compute": 800.0, "copy": 20.0}
    slow = usual | {cause: usual[cause] + 400.0}
    found = _late({0: _steps(**usual), 1: _steps(**usual), 2: _steps(**slow)})
    assert found.row(0, named=True) | {"noise_ns": None} == {
        "rank": 2, "own_ns": 1_371.0 * US, "excess_ns": 400.0 * US, "noise_ns": None, "significant": True, "cause": cause,
        "cause_ns": 400.0 * US, "last_fraction": 1.0, "caused_wait_ns": 400.0 * US, "waits_ns": 0.0,
    }  # fmt: skip
    assert found["significant"].to_list() == [True, False, False]


def test_a_difference_within_the_noise_blames_nobody():
    found = _late({0: _steps(compute=1_000.0, noise=150.0), 1: _steps(compute=1_100.0, noise=-150.0)})
    assert not found["significant"].any()


def test_five_steps_that_vary_blame_nobody():
    """Own times of two equal ranks on one machine, in µs, as recorded: by medians alone rank 1 would have been named."""
    first = [38_515.0, 39_538.0, 39_413.0, 40_460.0, 40_537.0]
    second = [41_827.0, 42_398.0, 41_550.0, 44_223.0, 40_947.0]
    found = _late({rank: [{"compute": own} for own in steps] for rank, steps in enumerate((first, second))})
    assert found.row(0, named=True)["excess_ns"] == 2_860.0 * US
    assert not found["significant"].any()


def test_as_many_steps_with_half_again_the_work_name_it():
    first = [40_105.0, 29_307.0, 30_414.0, 38_075.0, 36_664.0]
    second = [60_240.0, 61_548.0, 62_003.0, 61_546.0, 61_743.0]
    found = _late({rank: [{"compute": own} for own in steps] for rank, steps in enumerate((first, second))})
    assert found.select("rank", "significant").row(0) == (1, True)


#: parts of five steps on two ranks that share two cores with others, in µs as recorded: 40 ms of sleep in one loader, computing as it came
SLEEPY = (
    {"compute": [55_253.0, 110_936.0, 89_543.0, 107_827.0, 61_387.0], "input_wait": [106.0, 107.0, 175.0, 171.0, 138.0]},
    {
        "compute": [89_487.0, 96_211.0, 104_481.0, 100_967.0, 90_683.0],
        "input_wait": [43_393.0, 40_407.0, 40_445.0, 40_543.0, 41_082.0],
    },
)


def _steps_of(parts):
    return [dict(zip(parts, step, strict=True)) for step in zip(*parts.values(), strict=True)]


def test_a_habit_in_one_part_tells_where_the_whole_varies_too_much():
    found = _late({rank: _steps_of(parts) for rank, parts in enumerate(SLEEPY)})
    assert found.select("rank", "significant", "cause").row(0) == (1, True, "input_wait")
    without = {rank: _steps_of({"compute": parts["compute"]}) for rank, parts in enumerate(SLEEPY)}
    assert not _late(without)["significant"].any()


def test_a_habit_of_a_rank_that_is_not_late_is_nothing():
    """It waits for input and computes less for it: nobody waits for that rank."""
    first = {"compute": [60_000.0, 61_000.0, 59_000.0, 60_500.0, 59_500.0], "input_wait": [100.0] * 5}
    second = {
        "compute": [19_000.0, 21_000.0, 20_000.0, 18_500.0, 21_500.0],
        "input_wait": [40_000.0, 40_100.0, 39_900.0] + [40_000.0] * 2,
    }
    found = _late({rank: _steps_of(parts) for rank, parts in enumerate((first, second))})
    assert not found["significant"].any()


def test_a_small_difference_blames_nobody_however_steady():
    assert not _late({0: _steps(compute=1_000.0), 1: _steps(compute=1_020.0)})["significant"].any()


def test_one_step_needs_a_large_difference():
    assert not _late({0: _steps(compute=1_000.0, steps=1), 1: _steps(compute=1_080.0, steps=1)})["significant"].any()
    found = _late({0: _steps(compute=1_000.0, steps=1), 1: _steps(compute=1_500.0, steps=1)})
    assert found.select("rank", "significant", "noise_ns").row(0) == (1, True, None)


def test_one_disturbed_step_is_not_a_habit():
    disturbed = [{"compute": 1_000.0}] * 5 + [{"compute": 9_000.0}]
    assert not _late({0: [{"compute": 1_000.0}] * 6, 1: disturbed})["significant"].any()


def test_waits_while_recording_began_count_for_nothing():
    steps = _steps(compute=1_000.0)
    found = _late({0: steps, 1: steps}, begin={1: 20_000.0})
    assert found["caused_wait_ns"].to_list() == [0.0, 0.0]


def test_one_rank_is_compared_with_none():
    with pytest.raises(MissingData, match="only one rank"):
        lateness(training({0: _steps(compute=1.0)}).frame("rank_steps"))
