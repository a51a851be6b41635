"""Which collectives this rank took part in, in what order, how large, on device or host."""

from __future__ import annotations

import polars as pl

from analyze.errors import MissingData
from analyze.kernel_kinds import COLLECTIVE
from analyze.payload import first_tensor_bytes
from analyze.schema import TABLES
from analyze.tables._launched import with_launch

#: kind from the writer's collective name or the kernel's; first match wins
KINDS = (
    ("all-reduce", r"(?i)all_?reduce|cross_device_reduce"),
    ("reduce-scatter", r"(?i)reduce_?scatter"),
    ("all-gather", r"(?i)all_?gather"),
    ("all-to-all", r"(?i)all_?to_?all|alltoall"),
    ("broadcast", r"(?i)broadcast"),
    ("send-receive", r"(?i)send_?recv"),
    ("send", r"(?i)send"),
    ("receive", r"(?i)recv|receive"),
    ("reduce", r"(?i)reduce"),
    ("barrier", r"(?i)barrier"),
)
#: bytes of one element by the names c10d writes
ELEMENT_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "int": 4, "long": 8, "byte": 1, "char": 1, "bool": 1, "short": 2,
    "float8_e4m3fn": 1, "float8_e5m2": 1,
}  # fmt: skip
#: host-side collectives as gloo, MPI or c10d operators name them
HOST_COLLECTIVE = r"^(gloo|mpi|ucc|xccl):"
#: host side of collectives that run on the device: its span is the call, not the collective
DEVICE_COLLECTIVE_CALL = r"^(nccl|rccl|hccl|oneccl):|^c10d::"


def collectives(
    device_events: pl.LazyFrame,
    op_events: pl.LazyFrame,
    annotation_events: pl.LazyFrame,
    launches: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Collective kernels, else host collectives (gloo) in a run without device ones; waiting for peers is included."""
    device = (
        device_events.filter(pl.col("kind") == "kernel", pl.col("name").cast(pl.String).str.contains(COLLECTIVE))
        .drop_nulls("dur_ns")
        .collect()
    )
    device = device.with_columns(shaped_bytes=pl.lit(None, dtype=pl.Int64))
    if device.is_empty():
        device = _host_collectives(op_events, annotation_events)
    if device.is_empty():
        raise MissingData(_why_none(op_events, annotation_events))
    name = pl.coalesce(
        pl.when(pl.col("collective_name").cast(pl.String).str.len_chars() > 0).then(pl.col("collective_name").cast(pl.String)),
        pl.col("name").cast(pl.String),
    )
    kind: pl.Expr = pl.lit("other")
    for label, pattern in reversed(KINDS):
        kind = pl.when(name.str.contains(pattern)).then(pl.lit(label)).otherwise(kind)
    element = pl.col("element_type").cast(pl.String).str.to_lowercase().replace_strict(ELEMENT_BYTES, default=None)
    labelled = (
        device.with_columns(
            kind=kind.cast(pl.Categorical),
            group=pl.col("group_name"),
            bytes=pl.coalesce(pl.max_horizontal("in_elements", "out_elements") * element, "shaped_bytes"),
        )
        .sort("start_ns")
        .with_columns(sequence=pl.int_range(pl.len()).over("group", "kind").cast(pl.Int64))
    )
    return with_launch(labelled, launches).select(column.name for column in TABLES["collectives"])


def _why_none(op_events: pl.LazyFrame, annotation_events: pl.LazyFrame) -> str:
    on_host = annotation_events.filter(~pl.col("on_device").fill_null(value=False))
    names = pl.concat([frame.select(pl.col("name").cast(pl.String)) for frame in (op_events, on_host)])
    if names.filter(pl.col("name").str.contains(DEVICE_COLLECTIVE_CALL)).head(1).collect().is_empty():
        return "the trace holds no collectives"
    return "collectives are seen on the host only: the trace lacks their kernels"


def _host_collectives(op_events: pl.LazyFrame, annotation_events: pl.LazyFrame) -> pl.DataFrame:
    device_side = pl.lit(None, dtype=pl.Int64)
    wanted = pl.col("name").cast(pl.String).str.contains(HOST_COLLECTIVE)
    spans = annotation_events.filter(~pl.col("on_device").fill_null(value=False), wanted)
    calls = op_events.filter(wanted)
    return (
        pl.concat([spans, calls], how="diagonal_relaxed")
        .drop_nulls("dur_ns")
        .with_columns(device=device_side, stream=device_side, correlation=device_side)
        .collect()
        .with_columns(shaped_bytes=first_tensor_bytes("input_dims", "input_types"))
    )
