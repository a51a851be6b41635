from __future__ import annotations

from analyze.analyses.compiled_regions import compiled_regions
from tests.builders import launch, on_thread, operator, table, work


def test_regions_graphs_and_lookups_with_what_they_launch():
    ops = table(
        "cpu_ops",
        operator(0, 10, "TorchDynamo Cache Lookup"),
        operator(10, 100, "Torch-Compiled Region: 0/0"),
        operator(20, 90, "CompiledFunction"),
        operator(200, 230, "aten::mm"),
    )
    annotations = table("annotations", on_thread(25, 85, "## Call CompiledFxGraph abc ##", on_device=False))
    launched = table("launches", launch(30, 35, id=1), launch(210, 215, id=2))
    kernels = table("kernels", work(300, 340, launch_id=1), work(400, 440, launch_id=2))
    found = compiled_regions(ops, annotations, launched, kernels)
    assert found.rows() == [
        ("Torch-Compiled Region: 0/0", "region", 1, 90, 40, 1),
        ("CompiledFunction", "graph", 1, 70, 40, 1),
        ("## Call CompiledFxGraph abc ##", "graph", 1, 60, 40, 1),
        ("TorchDynamo Cache Lookup", "lookup", 1, 10, 0, 0),
    ]


def test_an_eager_run_has_no_rows_and_compilation_within_the_recording_shows():
    assert compiled_regions(table("cpu_ops", operator(0, 10, "aten::mm"))).is_empty()
    found = compiled_regions(table("cpu_ops", operator(0, 10, "entire_frame_compile (dynamo_timed)")))
    assert found["role"].to_list() == ["compilation"]
