from __future__ import annotations

import pytest

from analyze.errors import MissingData
from analyze.tables.steps import steps
from tests.builders import family, kernel, marker, on_thread


def found(annotations=(), calls=(), ops=(), work=()):
    return steps(
        family("annotation_events", *annotations),
        family("runtime_events", *calls),
        family("op_events", *ops),
        family("device_events", *work),
    )


def test_markers_become_steps_in_order_of_time():
    table = found([marker(6, 200, 330), marker(5, 100, 200)])
    assert table.rows() == [(5, 100, 100, 0, False), (6, 200, 130, 0, False)]


def test_the_marker_s_projection_on_the_device_is_no_step():
    projected = marker(5, 150, 400) | {"on_device": True, "thread": "7"}
    assert found([marker(5, 100, 200), projected])["step"].to_list() == [5]


def test_a_marker_that_never_ended_is_no_step():
    assert found([marker(5, 100, 200), marker(6, 200, 300) | {"dur_ns": None}])["step"].to_list() == [5]


def test_step_numbers_that_start_again_begin_a_new_cycle():
    table = found([marker(2, 0, 10), marker(3, 10, 20), marker(2, 100, 110), marker(3, 110, 120)])
    assert table["cycle"].to_list() == [0, 0, 1, 1]


def test_a_label_that_only_looks_like_a_marker_is_none():
    with pytest.raises(MissingData):
        found([on_thread(0, 10, "ProfilerStep#many", on_device=False), on_thread(0, 10, "my ProfilerStep#3")])


def test_without_markers_steps_end_with_the_optimizer():
    """Optimizer ends at 100, 200, 320: two whole steps between them."""
    calls = [on_thread(end - 10, end, "Optimizer.step#Adam.step", on_device=False) for end in (100, 200, 320)]
    assert found(calls).rows() == [(0, 100, 100, 0, True), (1, 200, 120, 0, True)]


def test_of_several_optimizers_the_rarest_bounds_the_step():
    generator = [on_thread(end - 5, end, "Optimizer.step#Adam.step", on_device=False) for end in (100, 200, 300)]
    critic = [on_thread(t, t + 5, "Optimizer.step#SGD.step", on_device=False) for t in range(20, 300, 20)]
    assert found([*critic, *generator])["dur_ns"].to_list() == [100, 100]


def periodic(names, repeats, every=1000):
    """Launches and kernels of a step written once, recorded `repeats` times."""
    calls, kernels = [], []
    for index in range(repeats * len(names)):
        turn, place = divmod(index, len(names))
        at = turn * every + place * 10
        calls.append(on_thread(at, at + 5, "cudaLaunchKernel", correlation=index + 1))
        kernels.append(kernel(at + 7, at + 9, names[place], correlation=index + 1))
    return calls, kernels


def test_without_markers_or_optimizer_a_repeating_launch_sequence_gives_the_steps():
    calls, kernels = periodic([f"kernel_{place}" for place in range(25)], repeats=4)
    table = found(calls=calls, work=kernels)
    assert table["dur_ns"].to_list() == [1000, 1000, 1000]
    assert table["inferred"].all()


def test_an_inner_loop_of_few_launches_is_no_step():
    calls, kernels = periodic(["a", "b", "c"], repeats=12)
    with pytest.raises(MissingData):
        found(calls=calls, work=kernels)


def test_a_launch_sequence_without_a_period_gives_no_steps():
    calls, kernels = periodic([f"kernel_{place}" for place in range(80)], repeats=1)
    with pytest.raises(MissingData, match="no steps"):
        found(calls=calls, work=kernels)


def test_without_launches_a_repeating_operator_sequence_gives_the_steps():
    ops = [
        on_thread(turn * 500 + place * 10, turn * 500 + place * 10 + 8, f"op_{place}") for turn in range(4) for place in range(20)
    ]
    assert found(ops=ops)["dur_ns"].to_list() == [500, 500, 500]
