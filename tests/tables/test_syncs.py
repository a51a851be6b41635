from __future__ import annotations

import pytest

from analyze.errors import MissingData
from analyze.tables.syncs import syncs
from tests.builders import family, launch, span, table


def test_a_wait_is_linked_to_its_call_and_to_the_recording_of_its_event():
    launched = table(
        "launches",
        launch(0, 2, "cudaEventRecord", id=10, correlation=1, work_count=0),
        launch(5, 7, "cudaStreamWaitEvent", id=11, correlation=2, work_count=0),
    )
    wait = span(8, 20, "Stream Wait Event", stream=20, correlation=2, wait_on_stream=7, wait_on_record_correlation=1)
    table_ = syncs(family("sync_events", wait), launched)
    assert table_.select("launch_id", "record_launch_id", "wait_on_stream").rows() == [(11, 10, 7)]


def test_an_ambiguous_correlation_is_linked_to_nothing():
    launched = table("launches", launch(0, 2, correlation=1), launch(3, 4, correlation=1, process="2"))
    assert syncs(family("sync_events", span(8, 20, "Context Sync", correlation=1)), launched)["launch_id"].to_list() == [None]


def test_without_records_or_launches():
    with pytest.raises(MissingData):
        syncs(family("sync_events"))
    assert syncs(family("sync_events", span(8, 20, "Context Sync", correlation=1)))["launch_id"].to_list() == [None]
