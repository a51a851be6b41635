from __future__ import annotations

from analyze.analyses.gpu_gaps import COLUMNS as GPU_GAPS
from analyze.analyses.idle_by_cause import idle_by_cause
from tests.builders import frame, launch, span, table, work


def by_cause(found):
    return found.select("stream", "cause", "idle_ns", "gap_count").rows()


def test_a_stream_idles_because_its_work_came_late_or_waited_for_something():
    """Gaps: 100 (launched at 180, after the end at 100), 20,000 (queued, short), 50,000 (queued, long)."""
    launched = table("launches", launch(0, 1, id=1), launch(180, 181, id=2), launch(190, 191, id=3), launch(195, 196, id=4))
    kernels = table(
        "kernels",
        work(0, 100, launch_id=1),
        work(200, 300, launch_id=2),
        work(20_300, 20_400, launch_id=3),
        work(70_400, 70_500, launch_id=4),
    )
    assert by_cause(idle_by_cause(kernels, launches=launched)) == [
        (7, "dependency", 50_000, 1),
        (7, "spacing", 20_000, 1),
        (7, "late_launch", 100, 1),
    ]


def test_streams_do_not_end_each_other_s_gaps():
    kernels = table("kernels", work(0, 100), work(50, 150, stream=20), work(120, 200))
    assert by_cause(idle_by_cause(kernels)) == [(7, "unknown", 20, 1)]


def test_overlapping_work_of_one_stream_leaves_no_gap():
    """[0,100) is still running when [20,30) ends: the next start at 60 is no gap."""
    assert idle_by_cause(table("kernels", work(0, 100), work(20, 30), work(60, 130))).is_empty()


def test_the_device_s_causes_are_those_of_its_gaps():
    gaps = frame(
        GPU_GAPS,
        span(0, 100, device=0, step=1, cause="launch", launch_ns=70, other_ns=30),
        span(200, 250, device=0, step=1, cause="other", launch_ns=0, other_ns=50),
    )
    found = idle_by_cause(table("kernels", work(100, 200)), gpu_gaps=gaps)
    assert by_cause(found) == [(None, "other", 80, 2), (None, "launch", 70, 1)]
    assert found["idle_fraction"].to_list() == [80 / 150, 70 / 150]
