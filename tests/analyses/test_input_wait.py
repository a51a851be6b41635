from __future__ import annotations

import pytest

from analyze.analyses.input_wait import input_wait
from analyze.errors import MissingData
from tests.builders import family, on_thread, step, table

SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
SEVERAL = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def of(*annotations, ops=(), steps=None):
    marked = [{"on_device": False} | row for row in annotations]
    return input_wait(family("annotation_events", *marked), family("op_events", *ops), steps)


@pytest.mark.parametrize(
    ("name", "itself"),
    [(SINGLE, True), (SEVERAL, False), ("enumerate(DataLoader)#MyIter.__next__", None), ("stepscope.input_wait", None)],
)
def test_every_label_of_a_loader_counts(name, itself):
    found = of(on_thread(10, 30, name))
    assert found.select("start_ns", "dur_ns", "loads_itself").rows() == [(10, 20, itself)]


def test_older_releases_label_it_as_an_operator():
    assert of(ops=[on_thread(10, 30, SINGLE)])["dur_ns"].to_list() == [20]


def test_only_the_outermost_of_nested_loaders_waits():
    """The recorder's label around the loader's own, and a loader inside a loader."""
    found = of(on_thread(10, 50, "stepscope.input_wait"), on_thread(12, 48, SINGLE), on_thread(60, 70, SINGLE))
    assert found.select("start_ns", "dur_ns").rows() == [(10, 40), (60, 10)]


def test_of_two_that_begin_together_the_longer_is_outermost():
    assert of(on_thread(10, 20, SINGLE), on_thread(10, 50, "stepscope.input_wait"))["dur_ns"].to_list() == [40]


def test_the_step_is_the_one_in_which_the_wait_began():
    steps = table("steps", step(4, 0, 100), step(5, 110, 200))
    found = of(on_thread(90, 104, SINGLE), on_thread(105, 109, SINGLE), on_thread(150, 160, SINGLE), steps=steps)
    assert found["step"].to_list() == [4, None, 5]


def test_threads_do_not_hide_each_other():
    found = of(on_thread(10, 50, SINGLE), on_thread(20, 30, SINGLE, thread="2"))
    assert found["dur_ns"].to_list() == [40, 10]


def test_the_device_s_projection_is_not_a_wait():
    with pytest.raises(MissingData):
        of(on_thread(10, 50, SINGLE) | {"on_device": True})


@pytest.mark.parametrize("name", ["DataLoader", "my enumerate(DataLoader)", "forward", "stepscope.input_wait_total"])
def test_no_span_is_unknown_not_no_wait(name):
    with pytest.raises(MissingData, match="not recorded"):
        of(on_thread(10, 50, name))
