"""Every analysis, run on one small recording, gives exactly the columns it declares."""

from __future__ import annotations

from importlib import import_module

import pytest

from analyze.engine import Workspace, producer_modules
from analyze.errors import MissingData
from analyze.schema import DATA_QUALITY, empty
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.builders import family, kernel, marker, memcpy, on_thread, span, table

ANALYSES = sorted(name for name, module in producer_modules().items() if module.startswith("analyze.analyses."))
US = 1_000


def recording():
    """Three steps: a wait for input, a copy, a product and its backward, a collective, the optimizer."""
    annotations, calls, ops, work, memory = [], [], [], [], []
    for turn in range(3):
        at = turn * 1_000 * US
        correlation = 10 * turn

        def host(rows, start, end, name, at=at, **more):
            rows.append(on_thread(at + start * US, at + end * US, name, **more))

        annotations.append(marker(turn, at, at + 1_000 * US))
        host(annotations, 10, 100, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", on_device=False)
        host(annotations, 600, 700, "Optimizer.step#SGD.step", on_device=False)
        host(ops, 110, 160, "aten::to")
        host(ops, 200, 300, "aten::mm", input_dims="[[8, 16], [16, 32]]", input_types='["float", "float"]', sequence_number=turn)
        host(ops, 400, 500, "autograd::engine::evaluate_function: MmBackward0", sequence_number=turn)
        host(ops, 610, 690, "aten::add_")
        host(calls, 120, 150, "cudaMemcpyAsync", correlation=correlation + 1)
        host(calls, 250, 255, "cudaLaunchKernel", correlation=correlation + 2)
        host(calls, 450, 455, "cudaLaunchKernelExC", correlation=correlation + 3)
        host(calls, 650, 655, "cudaLaunchKernel", correlation=correlation + 4)
        host(calls, 800, 960, "cudaDeviceSynchronize")
        work.append(memcpy(at + 125 * US, at + 145 * US, bytes=1 << 20, correlation=correlation + 1))
        work.append(
            kernel(
                at + 260 * US,
                at + 360 * US,
                "ampere_sgemm_128x64_tn",
                correlation=correlation + 2,
                blocks=40,
                threads_per_block=128,
            )
        )
        work.append(
            kernel(
                at + 460 * US, at + 560 * US, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", correlation=correlation + 3, stream=20
            )
        )
        work.append(kernel(at + 660 * US, at + 950 * US, "vectorized_elementwise_kernel", correlation=correlation + 4))
        memory.append(
            span(at + 210 * US, at + 210 * US, "[memory]", bytes=512, address=turn, device_type=1, device=0, thread="1")
        )
    python = [
        on_thread(0, 900 * US, "train.py(3): step", python_id=1),
        on_thread(190 * US, 310 * US, "nn.Module: Linear_0", python_id=2, python_parent_id=1),
    ]
    rows = {"annotation_events": annotations, "runtime_events": calls, "op_events": ops, "device_events": work}
    rows |= {"memory_events": memory, "python_events": python}
    others = ("sync_events", "overhead_events", "other_events", "flow_events", "lanes", "quarantine")
    families = {name: family(name, *events) for name, events in rows.items()} | {name: family(name) for name in others}
    device = DeviceProperties(index=0, name="NVIDIA A100-SXM4-80GB", multiprocessors=108)
    samples = [
        {"time_ns": t, "metric": "power_w", "value": 300.0, "device_uuid": "GPU-1"} for t in range(0, 4_000 * US, 500 * US)
    ]
    log = [{"rank": 0, "step": t, "start_ns": t * 1_000 * US, "dur_ns": 1_000 * US, "phase": "times"} for t in range(3)]
    return families | {
        "trace_info": TraceInfo(producer="kineto-cuda", devices=(device,), time_is_absolute=True, has_shapes=True),
        "data_quality": empty(DATA_QUALITY),
        "telemetry": table("telemetry", *samples),
        "step_log": table("step_log", *log),
    }


@pytest.fixture(scope="module")
def workspace():
    return Workspace(recording())


@pytest.mark.parametrize("name", ANALYSES)
def test_columns_and_types_are_those_declared(workspace, name):
    declared = import_module(producer_modules()[name]).COLUMNS
    try:
        found = workspace.get(name)
    except MissingData as missing:
        pytest.skip(str(missing))
    assert found.columns == [column.name for column in declared]
    wrong = {column.name: found.schema[column.name] for column in declared if column.dtype != found.schema[column.name]}
    assert not wrong


@pytest.mark.parametrize("name", ANALYSES)
def test_every_column_says_what_it_is_and_times_and_sizes_carry_their_unit(name):
    declared = import_module(producer_modules()[name]).COLUMNS
    assert all(column.meaning for column in declared)
    for column in declared:
        if column.name.endswith("_ns"):
            assert column.unit == "ns", column.name
        if column.name.endswith("_bytes"):
            assert column.unit == "bytes", column.name


def test_most_analyses_have_something_to_say_about_it(workspace):
    def says(name):
        try:
            return workspace.get(name).height > 0
        except MissingData:
            return False

    assert sum(says(name) for name in ANALYSES) >= 0.7 * len(ANALYSES), [name for name in ANALYSES if not says(name)]
