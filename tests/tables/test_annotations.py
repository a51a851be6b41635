from __future__ import annotations

import pytest

from analyze.errors import MissingData
from analyze.tables.annotations import annotations
from tests.builders import family, marker, on_thread, step, table


def test_host_spans_have_a_step_and_device_projections_none():
    events = [
        marker(5, 0, 100),
        on_thread(10, 40, "forward", on_device=False),
        on_thread(60, 90, "forward", on_device=True, device=0, stream=7),
    ]
    table_ = annotations(family("annotation_events", *events), table("steps", step(5, 0, 100)))
    assert table_.select("name", "on_device", "stream", "step").rows() == [
        ("ProfilerStep#5", False, None, 5),
        ("forward", False, None, 5),
        ("forward", True, 7, None),
    ]


def test_without_steps_no_step_is_made_up():
    assert annotations(family("annotation_events", on_thread(0, 5, "forward")))["step"].to_list() == [None]


def test_without_annotations():
    with pytest.raises(MissingData, match="record_function"):
        annotations(family("annotation_events"))
