"""Every table: column, dtype, unit, meaning, one line each.

Two levels. *Families* are what ingest hands over: one frame per kind of event, the same for every producer. *Tables*
are built from them and are what analyses and detectors ask for. Analyses declare their own columns beside their code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

I64, F64, STR, BOOL, CAT = pl.Int64, pl.Float64, pl.String, pl.Boolean, pl.Categorical


@dataclass(frozen=True)
class Column:
    """One column: its name, Polars dtype, unit ('' where it has none) and meaning."""

    name: str
    dtype: PolarsDataType
    unit: str
    meaning: str


def _columns(*rows: tuple[str, PolarsDataType, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in rows)


EVENT = _columns(
    ("id", I64, "", "position of the event in the file's event list"),
    ("name", CAT, "", "event name, as text; '<unnamed>' where the file has none"),
    ("category", CAT, "", "category as the file writes it"),
    ("process", CAT, "", "process lane (pid) as text"),
    ("thread", CAT, "", "thread lane (tid) as text"),
    ("start_ns", I64, "ns", "start; Unix time where TraceInfo.time_is_absolute"),
    ("dur_ns", I64, "ns", "duration; null where the event never ended"),
)

COLLECTIVE_ARGS = _columns(
    ("collective_name", CAT, "", "operation as the writer names it: allreduce, _allgather_base …"),
    ("in_elements", I64, "", "elements this rank contributes"),
    ("out_elements", I64, "", "elements this rank receives"),
    ("element_type", CAT, "", "element type as written: Float, BFloat16 …"),
    ("group_name", CAT, "", "process group name"),
    ("group_size", I64, "", "ranks in the group"),
    ("group_ranks", CAT, "", "ranks of the group, as the file's JSON text"),
    ("sequence", I64, "", "collective sequence number within the group"),
)

FAMILIES: dict[str, tuple[Column, ...]] = {
    "device_events": EVENT
    + _columns(
        ("kind", CAT, "", "kernel, memcpy or memset"),
        ("device", I64, "", "device index within the process"),
        ("stream", I64, "", "stream (queue) on that device"),
        ("correlation", I64, "", "id shared with the launching call; null where absent, 0 or negative"),
        ("external_id", I64, "", "id shared with the operator that launched it"),
        ("bytes", I64, "bytes", "bytes moved, for memcpy and memset"),
        ("blocks", I64, "", "thread blocks in the grid"),
        ("threads_per_block", I64, "", "threads of one block"),
        ("registers_per_thread", I64, "", "registers of one thread"),
        ("shared_memory_bytes", I64, "bytes", "shared memory of one block"),
        ("blocks_per_sm", F64, "", "blocks divided by multiprocessors, as written"),
        ("warps_per_sm", F64, "", "warps per multiprocessor, as written"),
        ("occupancy_percent", F64, "%", "estimated achieved occupancy, as written"),
        ("graph_id", I64, "", "graph that launched it, where written"),
        ("graph_node", I64, "", "node within that graph, where written"),
    )
    + COLLECTIVE_ARGS,
    "runtime_events": EVENT
    + _columns(
        ("correlation", I64, "", "id shared with the device work it started; null where absent, 0 or negative"),
        ("external_id", I64, "", "id shared with the operator that made the call"),
    ),
    "op_events": EVENT
    + _columns(
        ("external_id", I64, "", "operator id used by launches and device work"),
        ("sequence_number", I64, "", "autograd sequence number linking forward and backward"),
        ("forward_thread", I64, "", "thread that ran the forward operator"),
        ("input_dims", CAT, "", "input shapes, the file's JSON text"),
        ("input_types", CAT, "", "input element types, the file's JSON text"),
        ("input_strides", CAT, "", "input strides, the file's JSON text"),
        ("concrete_inputs", CAT, "", "scalar inputs, the file's JSON text"),
    )
    + COLLECTIVE_ARGS,
    "python_events": EVENT
    + _columns(
        ("python_id", I64, "", "id of this Python call"),
        ("python_parent_id", I64, "", "id of the calling Python call"),
        ("python_module_id", I64, "", "instance number of an nn.Module call"),
    ),
    "annotation_events": EVENT
    + _columns(
        ("on_device", BOOL, "", "true for the span's projection on the device"),
        ("device", I64, "", "device, where on_device"),
        ("stream", I64, "", "stream, where on_device"),
        ("external_id", I64, "", "id linking both sides"),
        ("input_dims", CAT, "", "input shapes of a call that the library labels, the file's JSON text"),
        ("input_types", CAT, "", "its input element types, the file's JSON text"),
    ),
    "sync_events": EVENT
    + _columns(
        ("device", I64, "", "device"),
        ("stream", I64, "", "stream that is waited for, or that waits"),
        ("correlation", I64, "", "correlation of the synchronising call"),
        ("wait_on_stream", I64, "", "stream on which the awaited event was recorded"),
        ("wait_on_record_correlation", I64, "", "correlation of the cudaEventRecord call awaited"),
    ),
    "memory_events": EVENT
    + _columns(
        ("address", I64, "", "block address"),
        ("bytes", I64, "bytes", "size; negative for a free"),
        ("total_allocated_bytes", I64, "bytes", "allocated on the device after the event"),
        ("total_reserved_bytes", I64, "bytes", "reserved by the allocator after the event"),
        ("device_type", I64, "", "torch device type: 0 CPU, 1 CUDA, 20 HIP …"),
        ("device", I64, "", "device index; -1 for the host"),
    ),
    "overhead_events": EVENT,
    "other_events": EVENT + _columns(("phase", CAT, "", "Chrome event phase: X, i, C, b, e …")),
    "flow_events": _columns(
        ("id", I64, "", "position of the event in the file's event list"),
        ("flow_id", STR, "", "flow id as text"),
        ("phase", CAT, "", "s (start), t (step) or f (finish)"),
        ("name", CAT, "", "flow kind: ac2g, fwdbwd …"),
        ("process", CAT, "", "process lane"),
        ("thread", CAT, "", "thread lane"),
        ("start_ns", I64, "ns", "time of the end point"),
    ),
    "lanes": _columns(
        ("process", CAT, "", "process lane"),
        ("thread", CAT, "", "thread lane; null where the row names a process"),
        ("name", STR, "", "process or thread name"),
        ("labels", STR, "", "process labels: CPU, GPU 0 …"),
    ),
    "quarantine": EVENT + _columns(("cause", CAT, "", "why its times are not believed: zero-timestamp, negative-duration …")),
    "raw": _columns(
        ("id", I64, "", "position of the event in the file's event list"),
        ("text", STR, "", "the event's own JSON text, after repair where it was repaired"),
    ),
}

DATA_QUALITY = _columns(
    ("cause", STR, "", "what was repaired, dropped, implausible or missing"),
    ("count", I64, "", "how many events or bytes"),
    ("first_byte", I64, "bytes", "offset of the first in the decompressed file; null where it has none"),
    ("detail", STR, "", "what it means for the answer"),
    ("file", STR, "", "file it concerns, as text"),
)

DEVICE_WORK = _columns(
    ("id", I64, "", "event id"),
    ("device", I64, "", "device index"),
    ("stream", I64, "", "stream"),
    ("name", CAT, "", "kernel or copy name"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "steps": _columns(
        ("step", I64, "", "step number as the recorder or profiler wrote it"),
        ("start_ns", I64, "ns", "start on the host"),
        ("dur_ns", I64, "ns", "duration on the host; shorter than the step where the host runs ahead"),
        ("cycle", I64, "", "profiler cycle"),
        ("inferred", BOOL, "", "true where steps were found without markers"),
    ),
    "launches": _columns(
        ("id", I64, "", "event id of the host call"),
        ("name", CAT, "", "call: cudaLaunchKernel, cudaMemcpyAsync, cudaStreamSynchronize …"),
        ("process", CAT, "", "process lane"),
        ("thread", CAT, "", "thread lane"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration"),
        ("step", I64, "", "step in which the call began; null outside steps"),
        ("op_id", I64, "", "innermost operator enclosing the call"),
        ("correlation", I64, "", "correlation id"),
        ("work_count", I64, "", "device work items it started (a graph launch has many)"),
        ("blocking", CAT, "", "what the call waits for: none, device, stream, event, copy, allocation, free"),
        ("profiler_overhead", BOOL, "", "overlapped by the profiler's own buffer handling"),
    ),
    "kernels": DEVICE_WORK
    + _columns(
        ("kind", CAT, "", "gemm, attention, convolution, collective, elementwise … (kernel_kinds.py), memset included"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration"),
        ("step", I64, "", "step in which it was launched"),
        ("launch_id", I64, "", "launching call; null where unknown"),
        ("op_id", I64, "", "innermost operator around the launching call"),
        ("blocks", I64, "", "thread blocks in the grid"),
        ("threads_per_block", I64, "", "threads of one block"),
        ("blocks_per_sm", F64, "", "blocks divided by multiprocessors"),
        ("occupancy_percent", F64, "%", "estimated achieved occupancy, as written"),
    ),
    "copies": DEVICE_WORK
    + _columns(
        ("direction", CAT, "", "host-to-device, device-to-host, device-to-device, peer-to-peer, host-to-host, unknown"),
        ("host_memory", CAT, "", "pageable, pinned, unknown; null where no host memory is involved"),
        ("bytes", I64, "bytes", "bytes moved"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration"),
        ("step", I64, "", "step in which it was launched"),
        ("launch_id", I64, "", "launching call"),
        ("op_id", I64, "", "innermost operator around the launching call"),
        ("for_exchange", BOOL, "", "brings data to a collective on the host, or its result back"),
    ),
    "cpu_ops": _columns(
        ("id", I64, "", "event id"),
        ("name", CAT, "", "operator name"),
        ("process", CAT, "", "process lane"),
        ("thread", CAT, "", "thread lane"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration"),
        ("self_ns", I64, "ns", "duration less that of its children, never negative"),
        ("parent_id", I64, "", "enclosing operator; null at the top"),
        ("depth", I64, "", "nesting depth, 0 at the top"),
        ("input_shapes", CAT, "", "input shapes, JSON text; null where not recorded"),
        ("input_types", CAT, "", "input types, JSON text; null where not recorded"),
        ("input_strides", CAT, "", "input strides, JSON text; null where not recorded"),
        ("concrete_inputs", CAT, "", "scalar inputs, JSON text; null where not recorded"),
        ("sequence_number", I64, "", "autograd sequence number"),
        ("step", I64, "", "step in which it began"),
    ),
    "collectives": _columns(
        ("id", I64, "", "event id"),
        ("group", CAT, "", "process group"),
        ("kind", CAT, "", "all-reduce, all-gather, reduce-scatter, broadcast, all-to-all, send, receive, other"),
        ("sequence", I64, "", "order within group and kind, from 0"),
        ("bytes", I64, "bytes", "payload of this rank"),
        ("group_size", I64, "", "ranks in the group"),
        ("device", I64, "", "device; null on the host"),
        ("stream", I64, "", "stream; null on the host"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration, waiting for peers included"),
        ("step", I64, "", "step in which it was launched"),
        ("launch_id", I64, "", "launching call"),
        ("op_id", I64, "", "innermost operator around the launching call"),
        ("process", CAT, "", "process lane in which it was recorded"),
        ("thread", CAT, "", "thread lane; of a kernel its stream's"),
    ),
    "memory": _columns(
        ("id", I64, "", "event id"),
        ("time_ns", I64, "ns", "time"),
        ("device_type", I64, "", "torch device type: 0 host, otherwise a device"),
        ("device", I64, "", "device index; -1 for the host"),
        ("bytes", I64, "bytes", "size; negative for a free"),
        ("address", I64, "", "block address"),
        ("allocated_bytes", I64, "bytes", "allocated after the event; null where not recorded"),
        ("reserved_bytes", I64, "bytes", "reserved after the event; null where not recorded"),
        ("thread", CAT, "", "thread lane"),
    ),
    "annotations": _columns(
        ("id", I64, "", "event id"),
        ("name", CAT, "", "label the user or a library gave the span"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration"),
        ("process", CAT, "", "process lane"),
        ("thread", CAT, "", "thread lane; a stream where on_device"),
        ("on_device", BOOL, "", "true for the span's projection on the device"),
        ("device", I64, "", "device, where on_device"),
        ("stream", I64, "", "stream, where on_device"),
        ("step", I64, "", "step in which it began, host side only"),
    ),
    "python_calls": _columns(
        ("id", I64, "", "event id"),
        ("name", CAT, "", "file(line): function, or nn.Module: Name_n"),
        ("thread", CAT, "", "thread lane"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration"),
        ("python_id", I64, "", "id of this call"),
        ("python_parent_id", I64, "", "id of the calling call"),
    ),
    "syncs": _columns(
        ("id", I64, "", "event id"),
        ("name", CAT, "", "Stream Sync, Event Sync, Context Sync, Stream Wait Event"),
        ("device", I64, "", "device"),
        ("stream", I64, "", "stream"),
        ("start_ns", I64, "ns", "start"),
        ("dur_ns", I64, "ns", "duration"),
        ("launch_id", I64, "", "host call that synchronised"),
        ("wait_on_stream", I64, "", "stream on which the awaited event was recorded"),
        ("record_launch_id", I64, "", "cudaEventRecord call awaited"),
    ),
    "telemetry": _columns(
        ("time_ns", I64, "ns", "Unix time of the sample"),
        ("host", CAT, "", "host name"),
        ("source", CAT, "", "nvml, psutil, rapl …"),
        ("device_uuid", CAT, "", "device; null for the host"),
        ("metric", CAT, "", "what was sampled, the unit in its name"),
        ("value", F64, "by metric", "sampled value; null where unsupported"),
        ("unit", CAT, "", "unit of value"),
    ),
    "step_log": _columns(
        ("rank", I64, "", "rank"),
        ("step", I64, "", "step index in the run"),
        ("start_ns", I64, "ns", "Unix time of the start"),
        ("dur_ns", I64, "ns", "duration, device work included where the recorder waited for it"),
        ("input_wait_ns", I64, "ns", "time spent waiting for the next batch; null where not measured"),
        ("samples", I64, "", "samples in the step; null where unknown"),
        ("loss", F64, "", "loss, where the loop reported one"),
        ("phase", CAT, "", "settling, baseline, warmup, times, explanations, idle"),
    ),
}


def empty(columns: tuple[Column, ...]) -> pl.DataFrame:
    """A frame without rows that has exactly these columns and dtypes."""
    return pl.DataFrame(schema={column.name: column.dtype for column in columns})
