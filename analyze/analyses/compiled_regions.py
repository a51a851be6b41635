"""Which regions did torch.compile take over, and did it compile while being recorded?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.analyses._launched_within import launched_within
from analyze.schema import Column

COLUMNS = (
    Column("name", pl.Categorical, "", "region, graph call, cache lookup or compilation, as labelled"),
    Column("role", pl.String, "", "region, graph, lookup, prologue, compilation"),
    Column("count", pl.Int64, "", "spans"),
    Column("host_ns", pl.Int64, "ns", "summed duration on the host"),
    Column("device_ns", pl.Int64, "ns", "summed device work launched inside"),
    Column("kernel_count", pl.Int64, "", "device work items launched inside"),
)

#: labels that Dynamo, AOTAutograd and Inductor put around their parts, by role; first match wins
ROLES = (
    ("lookup", r"TorchDynamo Cache Lookup"),
    ("prologue", r"^Pregraph bytecode"),
    ("graph", r"Call CompiledFxGraph|^CompiledFunction(Backward)?$|^CompiledFxGraph"),
    ("region", r"^Torch-Compiled Region"),
    (
        "compilation",
        r"(_compile\.compile_inner|dynamo_timed|entire_frame_compile|inductor_compile|fx_codegen_and_compile|(^|\W)compile_fx)",
    ),
)


def compiled_regions(
    cpu_ops: pl.DataFrame,
    annotations: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Labelled spans of the compiler by name; regions contain their graphs. No rows where nothing is compiled."""
    columns = ["name", "process", "thread", "start_ns", "dur_ns"]
    spans = [cpu_ops.select(columns)]
    if annotations is not None:
        spans.append(annotations.filter(~pl.col("on_device")).select(columns))
    name = pl.col("name").cast(pl.String)
    role: pl.Expr = pl.lit(None, dtype=pl.String)
    for label, pattern in reversed(ROLES):
        role = pl.when(name.str.contains(pattern)).then(pl.lit(label)).otherwise(role)
    found = pl.concat(spans).with_columns(role=role).drop_nulls("role")
    if launches is None or kernels is None:
        unknown = pl.lit(None, dtype=pl.Int64)
        measured = found.with_columns(device_ns=unknown, work_count=unknown)
    else:
        measured = launched_within(found, launches, device_work(kernels))
    return (
        measured.group_by("name", "role")
        .agg(
            pl.col("device_ns").sum(),
            count=pl.len().cast(pl.Int64),
            host_ns=pl.col("dur_ns").sum(),
            kernel_count=pl.col("work_count").sum(),
        )
        .sort("host_ns", "name", descending=[True, False])
        .select(column.name for column in COLUMNS)
    )
