from __future__ import annotations

import pytest

from analyze.analyses.queue_full import FULL_LENGTH, queue_full
from analyze.analyses.queue_length import queue_length
from analyze.analyses.queue_summary import queue_summary
from analyze.errors import MissingData
from tests.builders import launch, table, work


def test_a_launch_waits_from_its_call_to_the_start_of_its_work():
    """Launched at 0, 10 and 20; started at 5, 40 and 60."""
    launched = table("launches", launch(0, 1, id=1), launch(10, 11, id=2), launch(20, 21, id=3))
    kernels = table("kernels", work(5, 40, launch_id=1), work(40, 60, launch_id=2), work(60, 70, launch_id=3))
    found = queue_length(launched, kernels)
    assert found.select("time_ns", "length", "dur_ns").rows() == [
        (0, 1, 5), (5, 0, 5), (10, 1, 10), (20, 2, 20), (40, 1, 20), (60, 0, None),
    ]  # fmt: skip


def test_the_summary_weights_by_time():
    """Of 60: 5 empty, 35 with one waiting, 20 with two."""
    launched = table("launches", launch(0, 1, id=1), launch(10, 11, id=2), launch(20, 21, id=3))
    kernels = table("kernels", work(5, 40, launch_id=1), work(40, 60, launch_id=2), work(60, 70, launch_id=3))
    found = queue_summary(queue_length(launched, kernels), kernels)
    assert found.select("span_ns", "mean_length", "p50_length", "p99_length", "max_length").rows() == [(60, 75 / 60, 1, 2, 2)]
    assert found.select("empty_fraction", "launch_count", "orphan_count").rows() == [(5 / 60, 3, 0)]


def test_a_kernel_without_launch_never_makes_the_queue_negative():
    launched = table("launches", launch(10, 11, id=1))
    kernels = table("kernels", work(0, 5), work(20, 30, launch_id=1))
    series = queue_length(launched, kernels)
    assert series["length"].min() == 0
    assert queue_summary(series, kernels)["orphan_count"].to_list() == [1]


def test_work_that_seems_to_start_before_its_launch_never_waited():
    """Clocks of host and device differ: launched at 10, started at 8."""
    launched = table("launches", launch(10, 11, id=1), launch(20, 22, id=2))
    kernels = table("kernels", work(8, 12, launch_id=1), work(25, 30, launch_id=2))
    assert queue_length(launched, kernels).select("time_ns", "length").rows() == [(20, 1), (25, 0)]


def test_a_graph_is_one_entry_of_the_queue():
    launched = table("launches", launch(0, 1, "cudaGraphLaunch", id=1, work_count=3))
    kernels = table("kernels", *(work(start, start + 5, launch_id=1) for start in (20, 30, 40)))
    assert queue_length(launched, kernels).select("time_ns", "length").rows() == [(0, 1), (20, 0)]


def test_streams_have_their_own_queues():
    launched = table("launches", launch(0, 1, id=1), launch(2, 3, id=2))
    kernels = table("kernels", work(50, 60, launch_id=1), work(70, 80, launch_id=2, stream=20))
    summary = queue_summary(queue_length(launched, kernels), kernels)
    assert summary.select("stream", "span_ns", "max_length").rows() == [(7, 50, 1), (20, 68, 1)]


def test_no_links_at_all():
    with pytest.raises(MissingData):
        queue_length(table("launches", launch(0, 1)), table("kernels", work(5, 6)))


def test_time_with_a_full_queue_is_counted_on_every_stream():
    """FULL_LENGTH launches at 0..; the first starts 5,000 later: full from the last launch until then."""
    count = FULL_LENGTH
    launched = table("launches", *(launch(turn, turn + 1, id=turn) for turn in range(count)), launch(0, 1, id=count))
    kernels = table(
        "kernels",
        *(work(5_000 + turn, 5_001 + turn, launch_id=turn) for turn in range(count)),
        work(10, 20, launch_id=count, stream=20),
    )
    found = queue_full(queue_length(launched, kernels))
    assert found.select("stream", "full_ns", "span_count", "longest_ns").rows() == [
        (7, 5_000 - (count - 1), 1, 5_000 - (count - 1)),
        (20, 0, 0, 0),
    ]
