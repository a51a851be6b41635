from __future__ import annotations

from analyze.analyses.allocator_activity import allocator_activity
from tests.builders import launch, step, table


def test_driver_allocations_within_steps():
    launched = table(
        "launches",
        launch(0, 100, "cudaMalloc", blocking="allocation", work_count=0),
        launch(110, 140, "cudaMalloc", blocking="allocation", work_count=0, step=1),
        launch(210, 230, "cudaMalloc", blocking="allocation", work_count=0, step=2),
        launch(240, 290, "cudaFree", blocking="free", work_count=0, step=2),
        launch(295, 299, step=2),
    )
    steps = table("steps", step(1, 105, 200), step(2, 200, 300))
    assert allocator_activity(launched, steps).rows() == [
        ("cudaFree", "free", 1, 50, 50, 1, 0.5, 25.0),
        ("cudaMalloc", "allocation", 2, 50, 30, 2, 1.0, 25.0),
    ]


def test_a_cache_that_serves_everything_leaves_no_rows():
    assert allocator_activity(table("launches", launch(0, 5, step=1)), table("steps", step(1, 0, 10))).is_empty()


def test_without_steps_the_whole_recording_counts_and_no_rate_is_given():
    launched = table("launches", launch(0, 100, "cudaMalloc", blocking="allocation", work_count=0))
    assert allocator_activity(launched).select("count", "step_count", "count_per_step").rows() == [(1, 0, None)]
