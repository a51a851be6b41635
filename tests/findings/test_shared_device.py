"""What fixes of one rank may claim on a device that others use as well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyze.findings.model import Finding
from analyze.findings.saving import share_text
from analyze.findings.shared_device import SharedDevice, shared_device, within_the_device
from analyze.replay.edits import with_work_duration
from tests.rank_sets import training
from tests.timeline import Timeline

MS = 1_000_000
#: of a step of 10 ms the device is busy for 8 with all ranks, for 7 by kernels alone
SHARED = SharedDevice(ranks=2, work_ns=7 * MS, busy_ns=8 * MS)


def _replay():
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.python(6_000)
            line.kernel(4_000)
            line.synchronise("cudaDeviceSynchronize")
    return line.workspace(baseline_step_ms=10.0).get("replay")


def _finding(saving_ms, edit=lambda program: program, **fields):
    message = f"It gives back {share_text(saving_ms * MS, 10 * MS)}."
    bounds = {"step_saving_low_ns": saving_ms * 0.9 * MS, "step_saving_high_ns": saving_ms * 1.1 * MS}
    given = {"basis": "replayed", "edit": edit, "confidence": 0.9, "step_saving_ns": saving_ms * MS, **bounds, **fields}
    return Finding(detector="some-idle", message=message, **given)


def test_waiting_that_is_taken_away_gives_back_what_the_device_stands_still_for():
    (less,) = within_the_device([_finding(5)], SHARED, _replay())
    assert (less.step_saving_ns, less.step_saving_low_ns, less.step_saving_high_ns) == (2 * MS, 0.0, 3 * MS)
    assert less.message == "It gives back 2 ms (20%) of every step, as 2 ranks share the GPU and it has no more time to give."


def test_small_claims_and_those_of_all_ranks_stay():
    kept = [_finding(1.5), _finding(6, edit=None)]
    assert within_the_device(kept, SHARED, _replay()) == kept


def test_shorter_kernels_make_room_on_the_device():
    replay = _replay()
    shorter = with_work_duration(replay.program.work_id, replay.program.work_dur / 4)
    (kept,) = within_the_device([_finding(3, edit=shorter)], SHARED, replay)
    assert kept.step_saving_ns == 3 * MS


def test_a_full_device_leaves_nothing_to_claim():
    assert within_the_device([_finding(5)], replace(SHARED, busy_ns=9.9 * MS), _replay()) == []


def test_alone_on_a_device_nothing_changes():
    kept = [_finding(5)]
    assert within_the_device(kept, None, _replay()) == kept


def test_what_the_device_has_to_do_is_all_ranks_work():
    parts = {0: [{"compute": 800.0}] * 3, 1: [{"compute": 800.0}] * 3, 2: [{"compute": 300.0}] * 3}
    joint = training(parts, devices={0: "GPU-a", 1: "GPU-a", 2: "GPU-b"}).get("joint_replay")
    found = shared_device(0, joint, 2 * joint.step_ns)
    # 400 each; 360 with a tenth lost in turns, which busies the device for 800; twice that for twice the step
    assert found == SharedDevice(2, pytest.approx(2 * 640_000), pytest.approx(2 * 800_000))
    assert shared_device(2, joint, joint.step_ns) is None
    assert shared_device(0, None, joint.step_ns) is None
