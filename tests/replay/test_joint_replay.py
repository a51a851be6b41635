"""All ranks played together: what one gains, the others must let it have."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rank_sets import training

US = 1_000


def _joint(parts, **more):
    return training(parts, **more).get("joint_replay")


def _steps(count=4, **parts):
    return [parts] * count


def test_unedited_it_gives_back_the_step():
    joint = _joint({0: _steps(compute=100.0), 1: _steps(compute=140.0)}, transfer=10.0)
    assert joint.step_ns == 150 * US
    assert joint.error_fraction == 0


def test_it_plays_in_steady_state_whenever_ranks_began():
    joint = _joint({0: _steps(compute=100.0), 1: _steps(compute=100.0)}, begin={1: 5_000.0})
    assert joint.step_ns == 110 * US


def test_the_same_work_evenly_spread_takes_the_mean():
    joint = _joint({0: _steps(compute=100.0), 1: _steps(compute=100.0), 2: _steps(compute=160.0)}, transfer=10.0)
    assert joint.play(joint.balanced("compute_ns")) == pytest.approx(130 * US)


def test_work_that_wanders_from_rank_to_rank_is_spread_in_each_step():
    turns = {rank: [{"compute": 200.0 if step % 2 == rank else 100.0} for step in range(4)] for rank in (0, 1)}
    joint = _joint(turns, transfer=10.0)
    assert joint.step_ns == 210 * US
    assert joint.play(joint.balanced("compute_ns")) == pytest.approx(160 * US)


def test_a_straggler_as_fast_as_the_others_leaves_the_next_slowest():
    joint = _joint({0: _steps(host=100.0), 1: _steps(host=120.0), 2: _steps(host=300.0)}, transfer=10.0)
    # the median of the others is 110, and rank 1 still takes 120
    assert joint.play(joint.as_others(2, "host_ns")) == pytest.approx(130 * US)


def test_transfers_that_cost_nothing_leave_the_slowest_rank():
    joint = _joint({0: _steps(compute=100.0), 1: _steps(compute=140.0)}, transfer=30.0)
    assert joint.play(transfer=np.zeros_like(joint.transfer)) == pytest.approx(140 * US)


def test_savings_have_bounds_and_are_never_negative():
    joint = _joint({0: _steps(compute=100.0), 1: _steps(compute=200.0)}, transfer=0.0)
    saving = joint.saving(joint.balanced("compute_ns"))
    assert (saving.low_ns, saving.ns, saving.high_ns) == pytest.approx((45 * US, 50 * US, 55 * US))
    assert joint.saving(np.full((2, 4), 10.0 * US)).ns == 0


def test_devices_do_not_cool_down_while_they_wait():
    joint = _joint({0: _steps(compute=100.0), 1: _steps(compute=140.0)})
    assert not joint.as_warm_as(1).any()
