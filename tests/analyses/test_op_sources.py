from __future__ import annotations

import pytest

from analyze.analyses.op_sources import op_sources
from analyze.errors import MissingData
from tests.builders import family, marker, on_thread, operator, table

FRAMES = (
    on_thread(0, 100, "train.py(40): main"),
    on_thread(10, 50, "train.py(12): forward"),
    on_thread(12, 45, "torch/nn/functional.py(10): linear"),
    on_thread(13, 44, "<built-in function linear>"),
    on_thread(14, 43, "nn.Module: Linear_0"),
    on_thread(15, 42, "/usr/lib/python3.11/contextlib.py(3): inner"),
)


def calls(*frames):
    return table("python_calls", *({key: value for key, value in row.items() if key != "process"} for row in frames))


def of(*ops, frames=FRAMES):
    return dict(op_sources(table("cpu_ops", *ops), calls(*frames)).rows())


def test_the_line_is_the_innermost_frame_outside_libraries():
    found = of(operator(20, 30, "aten::mm", id=1), operator(60, 70, "aten::add", id=2))
    assert found == {1: "train.py(12): forward", 2: "train.py(40): main"}


def test_an_operator_outside_all_frames_has_none():
    assert of(operator(200, 210, "aten::mm", id=1)) == {}


def test_frames_of_other_threads_do_not_count():
    assert of(operator(20, 30, "aten::mm", id=1, thread="2")) == {}


def test_backward_operators_get_the_forward_one_s_line():
    found = of(
        operator(20, 30, "aten::mm", id=1, sequence_number=5),
        operator(20, 30, "MmBackward0", id=2, sequence_number=5, thread="2"),
        operator(31, 35, "MulBackward0", id=3, sequence_number=6, thread="2"),
    )
    assert found == {1: "train.py(12): forward", 2: "train.py(12): forward"}


@pytest.mark.parametrize(
    "name",
    [
        "torch/optim/adam.py(100): step",
        "/venv/lib/python3.12/site-packages/transformers/trainer.py(3): train",
        "<frozen runpy>(88): _run_code",
        "collect/recorder.py(20): step",
        "numpy/core/fromnumeric.py(3): sum",
    ],
)
def test_library_frames_are_not_the_user_s(name):
    assert of(operator(20, 30, "aten::mm", id=1), frames=(on_thread(0, 100, name),)) == {}


def explained(*frames):
    ops = [on_thread(210, 220, "aten::mm", id=1), on_thread(230, 240, "aten::mm", id=2)]
    return {
        "op_events": family("op_events", *ops),
        "python_events": family("python_events", *frames),
        "annotation_events": family("annotation_events", marker(9, 200, 300)),
    }


def test_the_explaining_window_lends_its_lines():
    """The second mm of a step is the second mm of the explained step."""
    frames = (on_thread(205, 225, "train.py(1): first"), on_thread(226, 250, "train.py(2): second"))
    ops = table("cpu_ops", operator(0, 5, "aten::mm", id=10, step=3), operator(6, 9, "aten::mm", id=11, step=3))
    assert dict(op_sources(ops, None, explained(*frames)).rows()) == {10: "train.py(1): first", 11: "train.py(2): second"}


def test_the_trace_s_own_stacks_come_first():
    theirs = explained(on_thread(205, 250, "train.py(9): theirs"))
    ops = table("cpu_ops", operator(20, 30, "aten::mm", id=10, step=3))
    assert op_sources(ops, calls(*FRAMES), theirs)["source"].to_list() == ["train.py(12): forward"]


def test_without_stacks_lines_are_missing():
    with pytest.raises(MissingData, match="no stacks"):
        op_sources(table("cpu_ops", operator(0, 5, "aten::mm")))
    with pytest.raises(MissingData, match="holds no stacks"):
        op_sources(table("cpu_ops", operator(0, 5, "aten::mm")), None, explained())
