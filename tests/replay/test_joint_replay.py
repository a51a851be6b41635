"""All ranks played together: what one gains, the others must let it have."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.engine import Together
from analyze.replay.joint import Change
from tests.rank_sets import US, calls, own, training


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
    assert joint.saving(Change(np.full((2, 4), 10.0 * US), np.zeros((2, 4)))).ns == 0


def test_devices_do_not_cool_down_while_they_wait():
    joint = _joint({0: _steps(compute=100.0), 1: _steps(compute=140.0)})
    warm = joint.as_warm_as(1)
    assert not warm.computing.any()
    assert not warm.other.any()


ONE = {0: "GPU-a", 1: "GPU-a"}
#: both have 400 µs of kernels by themselves, or 400 and 600: while both have some, each gets half the device
EQUAL = {0: _steps(compute=800.0), 1: _steps(compute=800.0)}
UNEQUAL = {0: _steps(compute=800.0), 1: _steps(compute=1_000.0)}
#: the second comes when the first is done
APART = {0: _steps(compute=400.0), 1: _steps(input_wait=600.0, compute=400.0)}


@pytest.mark.parametrize("parts", [EQUAL, UNEQUAL, APART])
def test_on_a_shared_device_the_unedited_replay_gives_back_the_step(parts: dict[int, list[dict[str, float]]]):
    joint = _joint(parts, devices=ONE)
    assert joint.turns is not None
    assert joint.step_ns == pytest.approx(joint.recorded_ns, rel=1e-9)


def test_kernels_by_themselves_take_their_turns_alone():
    joint = _joint(UNEQUAL, devices=ONE)
    # 800 of shared time are 400 less a tenth for changing over; then 200 alone
    assert joint.device_work_ns().mean(axis=1) == pytest.approx([360 * US, 560 * US])


def test_a_shared_device_has_as_much_to_do_however_work_is_spread():
    joint = _joint(UNEQUAL, devices=ONE)
    assert joint.saving(joint.balanced("compute_ns")).ns == pytest.approx(0, abs=25 * US)
    apart = _joint(UNEQUAL, devices={0: "GPU-a", 1: "GPU-b"})
    assert apart.turns is None
    assert apart.saving(apart.balanced("compute_ns")).ns == pytest.approx(100 * US)


def test_ranks_that_no_longer_wait_meet_on_the_device():
    joint = _joint(APART, devices=ONE)
    saving = joint.saving(joint.as_others(1, "input_wait_ns"))
    # two times 400 with a tenth, none or a fifth lost in changing over
    assert saving.ns == pytest.approx((1_000 - 800 / 0.9) * US)
    assert saving.low_ns == 0
    assert saving.high_ns == pytest.approx((1_000 - 800) * 1.1 * US)


def test_a_device_each_ends_the_turns():
    saving = _joint(EQUAL, devices=ONE).on_own_devices()
    # 360 instead of 800; 400 or 320 where changing over costs nothing or more
    assert (saving.ns, saving.low_ns, saving.high_ns) == pytest.approx((440 * US, 360 * US, 528 * US))
    assert _joint(EQUAL, devices={0: "GPU-a", 1: "GPU-b"}).on_own_devices().ns == 0


def test_three_on_one_device_and_one_apart():
    parts = {rank: _steps(compute=900.0) for rank in range(3)} | {3: _steps(compute=300.0)}
    joint = _joint(parts, devices={0: "GPU-a", 1: "GPU-a", 2: "GPU-a", 3: "GPU-b"})
    assert joint.device_work_ns()[:, 0] == pytest.approx([270 * US] * 3 + [300 * US])
    assert joint.step_ns == pytest.approx(910 * US)
    # the fourth has a device of its own, and waits for the others as before
    assert joint.on_own_devices().ns == pytest.approx((900 - 300) * US)


def _on_the_host(**second):
    """Two ranks alike that compute until 500, and exchange over the host from 400 and from 450 until 600."""
    rows, steps = [], []
    for rank in (0, 1):
        first = {"rank": rank, "step": 0, "turn": 0, "stream": None, "lane": "thread 1", "ready_ns": 400 * US}
        rows += [
            first | {"start_ns": 400 * US, "dur_ns": 200 * US},
            first | {"turn": 1, "lane": "thread 2", "ready_ns": 450 * US, "start_ns": 450 * US, "dur_ns": 150 * US,
                     "blocked_ns": 100 * US} | second,
        ]  # fmt: skip
        parts = {"step_ns": 600 * US, "own_ns": 500 * US, "compute_ns": 500 * US, "blocked_ns": 100 * US}
        steps.append({"rank": rank, "step": 0, "start_ns": 0} | parts)
    return Together({"collective_calls": calls(*rows), "own_time": own(*steps)}).get("joint_replay")


def _half_the_computing(joint):
    return joint.play(Change(np.full((2, 1), -250.0 * US), np.zeros((2, 1))))


def test_transfers_over_the_host_at_once_share_its_way_out():
    joint = _on_the_host()
    # 50 alone and 75 of 150 shared; the other 75
    assert joint.transfer == pytest.approx([125 * US, 75 * US])
    assert joint.step_ns == pytest.approx(600 * US)


def test_what_is_ready_sooner_still_goes_out_one_after_the_other():
    # ready at 200 and 225: out until 325 and 400, though computing ends at 250
    assert _half_the_computing(_on_the_host()) == pytest.approx(400 * US)


def test_without_requests_transfers_are_as_they_were_recorded():
    joint = _on_the_host(ready_ns=None)
    assert joint.transfer == pytest.approx([200 * US, 150 * US])


def test_who_waits_for_an_exchange_waits_for_those_asked_for_before_it():
    # the first had ended when it was waited for; sent out first, it need not have when computing ends sooner
    joint = _on_the_host(start_ns=590 * US, dur_ns=10 * US, ready_ns=590 * US, blocked_ns=10 * US)
    assert joint.blocks.all()
