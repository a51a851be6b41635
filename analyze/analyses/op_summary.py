"""Which operators cost how much, on the host and on the device, by input shapes?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.analyses._launched_within import launched_within
from analyze.schema import Column

COLUMNS = (
    Column("name", pl.Categorical, "", "operator"),
    Column("input_shapes", pl.Categorical, "", "input shapes, JSON text; null where not recorded"),
    Column("calls", pl.Int64, "", "calls"),
    Column("host_ns", pl.Int64, "ns", "summed duration on the host, operators inside included"),
    Column("host_self_ns", pl.Int64, "ns", "without the operators inside"),
    Column("device_ns", pl.Int64, "ns", "summed device work launched by the operator and those inside; null without a device"),
    Column("device_self_ns", pl.Int64, "ns", "launched by the operator itself"),
    Column("kernel_count", pl.Int64, "", "device work items launched by the operator itself"),
)


def op_summary(
    cpu_ops: pl.DataFrame,
    op_arguments: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Operators of the whole recording by name and shapes; most device time first, then most host self time."""
    shaped = cpu_ops
    if op_arguments is not None:
        shaped = cpu_ops.drop("input_shapes").join(op_arguments.select("id", "input_shapes"), on="id", how="left")
    unknown = pl.lit(None, dtype=pl.Int64)
    has_device = launches is not None and (kernels is not None or copies is not None)
    if launches is not None and has_device:
        work = device_work(kernels, copies)
        own = work.group_by("op_id").agg(device_self_ns=pl.col("dur_ns").sum(), kernel_count=pl.len().cast(pl.Int64))
        measured = launched_within(shaped, launches, work).join(own, left_on="id", right_on="op_id", how="left")
        measured = measured.with_columns(pl.col("device_self_ns", "kernel_count").fill_null(0))
    else:
        measured = shaped.with_columns(device_ns=unknown, device_self_ns=unknown, kernel_count=unknown)
    device = [
        pl.col(name).sum() if has_device else unknown.alias(name) for name in ("device_ns", "device_self_ns", "kernel_count")
    ]
    return (
        measured.group_by("name", "input_shapes")
        .agg(
            *device,
            calls=pl.len().cast(pl.Int64),
            host_ns=pl.col("dur_ns").sum(),
            host_self_ns=pl.col("self_ns").sum(),
        )
        .sort("device_ns", "host_self_ns", pl.col("name").cast(pl.String), descending=[True, True, False], nulls_last=True)
        .select(column.name for column in COLUMNS)
    )
