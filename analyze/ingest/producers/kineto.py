"""Kineto, the tracing library behind torch.profiler, from torch 1.8 on, on every device it supports.

Categories are the names of its activity types; before torch 1.12 they were capitalised (Kernel, Runtime, Operator …).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.ingest.producer import METADATA, Producer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from analyze.ingest.event import Event

DEVICE_CATEGORIES = {
    "kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "gpu_memset": "memset",
    "concurrent_kernel": "kernel",
    "mtia_ccp_events": "kernel",
    "hpu_op": "kernel",
    "Kernel": "kernel",
    "Memcpy": "memcpy",
    "Memset": "memset",
}
FAMILY_OF_CATEGORY = {
    **dict.fromkeys(DEVICE_CATEGORIES, "device_events"),
    **dict.fromkeys(
        (
            "cuda_runtime",
            "cuda_driver",
            "hip_runtime",
            "xpu_runtime",
            "xpu_driver",
            "mtia_runtime",
            "glow_runtime",
            "privateuse1_runtime",
            "privateuse1_driver",
            "Runtime",
            "Driver",
        ),
        "runtime_events",
    ),
    **dict.fromkeys(("cpu_op", "Operator"), "op_events"),
    **dict.fromkeys(("python_function", "Python"), "python_events"),
    **dict.fromkeys(("user_annotation", "gpu_user_annotation"), "annotation_events"),
    **dict.fromkeys(("cuda_sync", "xpu_sync"), "sync_events"),
    "overhead": "overhead_events",
}
#: device kind by the beginning of a category that only it has
KIND_OF_CATEGORY = {
    "mtia": "mtia",
    "glow": "mtia",
    "xpu": "xpu",
    "hpu": "hpu",
    "privateuse1": "privateuse1",
}
FLOW_PHASES = frozenset("stf")

COLLECTIVE_KEYS = {
    "collective_name": ("Collective name",),
    "in_elements": ("In msg nelems",),
    "out_elements": ("Out msg nelems",),
    "element_type": ("dtype",),
    "group_name": ("Process Group Name",),
    "group_size": ("Group size",),
    "group_ranks": ("Process Group Ranks",),
    "sequence": ("Seq",),
}
ARGUMENTS: dict[str, dict[str, Sequence[str]]] = {
    "device_events": {
        "device": ("device",),
        "stream": ("stream",),
        "correlation": ("correlation",),
        "external_id": ("External id", "external id"),
        "bytes": ("bytes", "Bytes"),
        "grid": ("grid",),
        "block": ("block",),
        "registers_per_thread": ("registers per thread",),
        "shared_memory_bytes": ("shared memory",),
        "blocks_per_sm": ("blocks per SM",),
        "warps_per_sm": ("warps per SM",),
        "occupancy_percent": ("est. achieved occupancy %",),
        "graph_id": ("graph id",),
        "graph_node": ("graph node id",),
        **COLLECTIVE_KEYS,
    },
    "runtime_events": {"correlation": ("correlation",), "external_id": ("External id", "external id")},
    "op_events": {
        "external_id": ("External id", "external id"),
        "sequence_number": ("Sequence number", "Fwd-Bwd sequence number"),
        "forward_thread": ("Fwd thread id",),
        "input_dims": ("Input Dims", "Input dims"),
        "input_types": ("Input type",),
        "input_strides": ("Input Strides",),
        "concrete_inputs": ("Concrete Inputs",),
        **COLLECTIVE_KEYS,
    },
    "python_events": {
        "python_id": ("Python id",),
        "python_parent_id": ("Python parent id",),
        "python_module_id": ("Python module id",),
    },
    "annotation_events": {
        "device": ("device",),
        "stream": ("stream",),
        "external_id": ("External id", "external id"),
        "input_dims": ("Input Dims",),
        "input_types": ("Input type",),
    },
    "sync_events": {
        "device": ("device",),
        "stream": ("stream",),
        "correlation": ("correlation",),
        "wait_on_stream": ("wait_on_stream",),
        "wait_on_record_correlation": ("wait_on_cuda_event_record_corr_id",),
    },
    "memory_events": {
        "address": ("Addr",),
        "bytes": ("Bytes",),
        "total_allocated_bytes": ("Total Allocated",),
        "total_reserved_bytes": ("Total Reserved",),
        "device_type": ("Device Type",),
        "device": ("Device Id",),
    },
}


def family(phase: str, category: str | None, name: str) -> str:
    """Family of an event."""
    if phase in ("M", ""):
        return METADATA
    if phase in FLOW_PHASES:
        return "flow_events"
    if phase == "X":
        return FAMILY_OF_CATEGORY.get(category or "", "other_events")
    return "memory_events" if name == "[memory]" else "other_events"


def matches(header: Mapping[str, Any], events: Sequence[Event]) -> float:
    """Kineto writes schemaVersion, device properties, and categories of its own."""
    if "schemaVersion" in header or "deviceProperties" in header:
        return 1.0
    known = sum(event.cat in FAMILY_OF_CATEGORY for event in events)
    return 0.9 if known else 0.0


def describe(header: Mapping[str, Any], categories: Mapping[str, int], calls: Sequence[str]) -> str:
    """Name with the device kind."""
    return f"kineto-{device_kind(header, categories, calls)}"


def device_kind(header: Mapping[str, Any], categories: Mapping[str, int], calls: Sequence[str]) -> str:
    """Return cuda, rocm, xpu, mtia, hpu, privateuse1 or cpu."""
    for beginning, kind in KIND_OF_CATEGORY.items():
        if any(category.startswith(beginning) for category in categories):
            return kind
    header_of_rocm = any(key.startswith(("hip_", "roctracer_", "rocprofiler_")) for key in header)
    if header_of_rocm or any(call.startswith("hip") for call in calls):
        return "rocm"
    on_device = any(category in DEVICE_CATEGORIES for category in categories)
    return "cuda" if on_device or any(call.startswith("cu") for call in calls) else "cpu"


def complete_device(frame: pl.DataFrame) -> pl.DataFrame:
    """Kind by category, copies of old ROCm by name; device and stream from the lanes where the arguments lack them."""
    category, name = pl.col("category").cast(pl.String), pl.col("name").cast(pl.String)
    by_name: pl.Expr
    copies = pl.when(name.str.contains(r"^(Memcpy|Copy\w+To\w+)")).then(pl.lit("memcpy"))
    by_name = copies.when(name.str.starts_with("Memset")).then(pl.lit("memset")).otherwise(pl.lit("kernel"))
    return frame.with_columns(
        kind=pl.when(category.is_in(["gpu_memcpy", "Memcpy"]))
        .then(pl.lit("memcpy"))
        .when(category.is_in(["gpu_memset", "Memset"]))
        .then(pl.lit("memset"))
        .otherwise(by_name)
        .cast(pl.Categorical),
        correlation=link("correlation"),
        device=pl.coalesce(pl.col("device"), lane_number("process")),
        stream=pl.coalesce(pl.col("stream"), lane_number("thread")),
        blocks=product_of(frame["grid"]),
        threads_per_block=product_of(frame["block"]),
    )


def complete_annotation(frame: pl.DataFrame) -> pl.DataFrame:
    """Mark the device's projections; only they have a device and a stream."""
    on_device = pl.col("category").cast(pl.String) == "gpu_user_annotation"
    return frame.with_columns(
        on_device=on_device,
        device=pl.when(on_device).then(pl.coalesce(pl.col("device"), lane_number("process"))),
        stream=pl.when(on_device).then(pl.coalesce(pl.col("stream"), lane_number("thread"))),
    )


def link(column: str) -> pl.Expr:
    """Correlation 0 and negative ones are no link."""
    return pl.when(pl.col(column) > 0).then(pl.col(column)).alias(column)


def lane_number(column: str) -> pl.Expr:
    """Return the number that ends a lane's text: 7 of 'stream 7'; null where there is none."""
    return pl.col(column).cast(pl.String).str.extract(r"^(?:stream )?(\d{1,9})$").cast(pl.Int64, strict=False)


def product_of(lists: pl.Series) -> pl.Series:
    """Product of each JSON list of integers, worked out once per distinct text."""
    distinct = lists.to_frame("text").unique().drop_nulls()
    sizes = distinct.select(
        "text",
        product=pl.col("text")
        .cast(pl.String)
        .str.extract_all(r"\d+")
        .list.eval(pl.element().cast(pl.Int64).product())
        .list.first(),
    )
    joined = lists.to_frame("text").join(sizes, on="text", how="left", maintain_order="left")
    return joined.get_column("product")


PRODUCER = Producer(
    name="kineto",
    matches=matches,
    family=family,
    arguments=ARGUMENTS,
    complete={
        "device_events": complete_device,
        "annotation_events": complete_annotation,
        "runtime_events": lambda frame: frame.with_columns(link("correlation")),
        "sync_events": lambda frame: frame.with_columns(link("correlation")),
    },
    describe=describe,
)
