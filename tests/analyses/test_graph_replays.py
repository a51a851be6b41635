from __future__ import annotations

from analyze.analyses.graph_replays import graph_replays
from tests.builders import launch, table, work


def test_replays_by_size_with_their_share_of_the_device_s_work():
    launched = table(
        "launches",
        launch(0, 12, "cudaGraphLaunch", id=1, work_count=3),
        launch(100, 110, "cudaGraphLaunch", id=2, work_count=3),
        launch(200, 205, id=3),
    )
    graph = [work(start, start + 10, launch_id=call) for call in (1, 2) for start in (300, 310, 320)]
    found = graph_replays(launched, table("kernels", *graph, work(400, 440, launch_id=3)))
    assert found.rows() == [("cudaGraphLaunch", 3, 2, 22, 60, 0.6)]


def test_a_run_without_graphs_has_no_rows():
    assert graph_replays(table("launches", launch(0, 5, id=1)), table("kernels", work(9, 12, launch_id=1))).is_empty()
