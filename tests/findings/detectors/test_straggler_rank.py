"""A rank that is late for another reason than more work."""

from __future__ import annotations

import pytest

from analyze.analyses.kernel_pace import COLUMNS as PACE
from analyze.analyses.rank_state import COLUMNS as STATE
from analyze.analyses.shaped_work import COLUMNS as WORK
from tests.builders import frame
from tests.findings.rank_findings import findings, outcome
from tests.rank_sets import RANK, training

USUAL = {"compute": 800.0, "host": 100.0}


def _run(slow, count=6, **more):
    return training({0: [USUAL] * count, 1: [USUAL] * count, 2: [USUAL | slow] * count}, **more)


def _states(*clocks):
    return frame((*STATE, RANK), *({"rank": rank, "sm_clock_mhz": clock} for rank, clock in enumerate(clocks)))


@pytest.mark.parametrize(
    ("slow", "what"),
    [
        ({"input_wait": 500.0}, "waits for its input"),
        ({"host": 600.0}, "held up by its host"),
        ({"gc": 500.0}, "collects garbage"),
    ],
)
def test_the_late_rank_is_named_with_what_it_loses(slow: dict[str, float], what: str):
    (finding,) = findings(_run(slow), "straggler-rank")
    assert (finding.rank, finding.basis, finding.location) == (2, "replayed", "rank 2")
    assert what in finding.message
    # the others take 900 and the transfer 10
    assert finding.step_saving_ns == pytest.approx(500_000)
    assert finding.confidence == 0.95


def test_a_part_is_never_said_to_be_more_than_the_whole():
    (finding,) = findings(_run({"input_wait": 500.0, "compute": 600.0}), "straggler-rank")
    assert (
        "needs 0.3 ms a step more than the others for its own part, all of it because it waits for its input" in finding.message
    )
    (finding,) = findings(_run({"input_wait": 500.0, "host": 200.0}), "straggler-rank")
    assert "needs 0.6 ms a step more than the others for its own part, 0.5 ms of it because" in finding.message


def test_two_late_ranks_are_one_finding():
    late = USUAL | {"host": 600.0}
    (finding,) = findings(
        training({0: [USUAL] * 5, 1: [late] * 5, 2: [USUAL] * 5, 3: [late] * 5, 4: [USUAL] * 5}), "straggler-rank"
    )
    assert finding.location == "rank 1, rank 3"
    assert finding.step_saving_ns == pytest.approx(500_000)


def test_more_work_is_no_straggling():
    assert findings(_run({"compute": 1_300.0}), "straggler-rank") == ()


def test_unless_its_clock_is_slow():
    together = _run({"compute": 1_300.0}, more={"rank_state": _states(1_400.0, 1_400.0, 900.0)})
    (finding,) = findings(together, "straggler-rank")
    assert "slower clock" in finding.message


def _shapes(*flops):
    kernel = {"name": "mm", "kind": "gemm", "count_per_step": 10.0, "mean_ns": 80.0, "ns_per_step": 800.0}
    work = ({"rank": rank, "flops_per_step": each, "bytes_per_step": 1.0} for rank, each in enumerate(flops))
    pace = ({"rank": rank} | kernel for rank in range(len(flops)))
    return {"kernel_pace": frame((*PACE, RANK), *pace), "shaped_work": frame((*WORK, RANK), *work)}


def _devices(*uuids):
    return frame((*STATE, RANK), *({"rank": rank, "device_uuid": uuid} for rank, uuid in enumerate(uuids)))


def test_longer_for_the_same_work_is_straggling():
    (finding,) = findings(_run({"compute": 1_300.0}, more=_shapes(100.0, 100.0, 100.0)), "straggler-rank")
    assert finding.rank == 2
    assert "takes longer for the same work" in finding.message
    assert finding.step_saving_ns == pytest.approx(500_000)


def test_longer_for_more_work_by_shapes_is_not():
    assert findings(_run({"compute": 1_300.0}, more=_shapes(100.0, 100.0, 160.0)), "straggler-rank") == ()


def test_on_a_shared_device_the_same_work_takes_as_long_as_others_let_it():
    more = _shapes(100.0, 100.0, 100.0)
    shared = more | {"rank_state": _devices("GPU-a", "GPU-b", "GPU-b")}
    assert findings(_run({"compute": 1_300.0}, more=shared), "straggler-rank") == ()
    alone = more | {"rank_state": _devices("GPU-a", "GPU-b", "GPU-c")}
    assert findings(_run({"compute": 1_300.0}, more=alone), "straggler-rank")[0].rank == 2


def test_a_large_loss_that_varies_is_a_note_and_no_habit():
    late = [USUAL | {"host": 100.0 + more} for more in (30.0, 900.0, 200.0, 600.0, 100.0)]
    (note,) = findings(training({0: [USUAL] * 5, 1: [USUAL] * 5, 2: late}), "straggler-rank")
    assert (note.kind, note.rank, note.step_saving_ns) == ("note", 2, None)
    # the others wait 1.83 ms in five steps
    assert "they wait 0.366 ms a step for it" in note.message
    assert "varies too much" in note.message


def test_a_small_loss_that_varies_is_nothing():
    late = [USUAL | {"host": 100.0 + more} for more in (10.0, 200.0, 0.0, 100.0, 20.0)]
    assert findings(training({0: [USUAL] * 5, 1: [USUAL] * 5, 2: late}), "straggler-rank") == ()


def test_seconds_are_written_without_an_exponent():
    (finding,) = findings(_run({"host": 1_500_000.0}), "straggler-rank")
    assert "needs 1,500 ms a step more" in finding.message


def test_a_balanced_run_blames_nobody():
    assert findings(_run({}), "straggler-rank") == ()


def test_one_step_is_said_to_be_one_step():
    (finding,) = findings(_run({"host": 900.0}, count=1), "straggler-rank")
    assert finding.caveat is not None
    assert finding.confidence < 0.75


def test_a_rank_that_began_to_record_late_is_not_blamed():
    assert findings(_run({}, begin={2: 50_000.0}), "straggler-rank") == ()


def test_one_rank_alone_says_what_to_send():
    assert outcome(None, "straggler-rank").reason == "one of 4 ranks was given: send the others' traces too"
