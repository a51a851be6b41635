"""Which modules of the model cost how much, forward and backward?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.scalars import whole
from analyze.schema import Column

COLUMNS = (
    Column("module", pl.String, "", "path of enclosing modules as the profiler names them: Block_3/Linear_1"),
    Column("calls", pl.Int64, "", "forward calls that ran an operator"),
    Column("host_ns", pl.Int64, "ns", "forward host time in operators, modules inside included"),
    Column("host_self_ns", pl.Int64, "ns", "without the modules inside"),
    Column("forward_device_ns", pl.Int64, "ns", "device work launched forward, modules inside included; null without a device"),
    Column(
        "backward_device_ns", pl.Int64, "ns", "device work launched by the backward of their operators; null without a device"
    ),
    Column("kernel_count", pl.Int64, "", "device work items, forward and backward; null without a device"),
)


def module_summary(
    op_modules: pl.DataFrame,
    cpu_ops: pl.DataFrame,
    op_roots: pl.DataFrame,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Modules by path over the whole recording, most device time first.

    Times are this recording's; only the assignment to modules may come from the explaining window.
    """
    measured = _measured(_assigned(op_modules, cpu_ops, op_roots), kernels, copies)
    split = measured.with_columns(pl.col("module", "calls").str.split("/")).with_columns(depth=pl.col("module").list.len())
    within = [
        split.filter(pl.col("depth") >= depth).with_columns(
            pl.col("module", "calls").list.head(depth).list.join("/"), itself=pl.col("depth") == depth
        )
        for depth in range(1, whole(split["depth"].max() or 0) + 1)
    ]
    forward = ~pl.col("backward")
    return (
        pl.concat(within)
        .group_by("module")
        .agg(
            calls=pl.struct("step", "calls").filter(forward).n_unique().cast(pl.Int64),
            host_ns=pl.col("self_ns").filter(forward).sum(),
            host_self_ns=pl.col("self_ns").filter(forward & pl.col("itself")).sum(),
            forward_device_ns=_sum_if_known("device_ns", forward),
            backward_device_ns=_sum_if_known("device_ns", ~forward),
            kernel_count=_sum_if_known("work_count", pl.lit(value=True)),
        )
        .sort("forward_device_ns", "host_ns", "module", descending=[True, True, False], nulls_last=True)
        .select(column.name for column in COLUMNS)
    )


def _assigned(op_modules: pl.DataFrame, cpu_ops: pl.DataFrame, op_roots: pl.DataFrame) -> pl.DataFrame:
    """Operators of modules: their own, else what a backward node at the top runs."""
    own = cpu_ops.select("id", "step", "self_ns").join(op_modules, on="id", how="left", maintain_order="left")
    nodes = op_modules.filter("backward").select(root_id="id", node="module", node_calls="calls")
    rooted = own.join(op_roots.select("id", "root_id"), on="id", how="left").join(nodes, on="root_id", how="left")
    return rooted.with_columns(
        module=pl.coalesce("module", "node"),
        calls=pl.coalesce("calls", "node_calls"),
        backward=pl.col("node").is_not_null() | pl.col("backward").fill_null(value=False),
    ).drop_nulls("module")


def _measured(operators: pl.DataFrame, kernels: pl.DataFrame | None, copies: pl.DataFrame | None) -> pl.DataFrame:
    if kernels is None and copies is None:
        unknown = pl.lit(None, dtype=pl.Int64)
        return operators.with_columns(device_ns=unknown, work_count=unknown)
    own = device_work(kernels, copies).group_by("op_id").agg(device_ns=pl.col("dur_ns").sum(), work_count=pl.len().cast(pl.Int64))
    return operators.join(own, left_on="id", right_on="op_id", how="left").with_columns(
        pl.col("device_ns", "work_count").fill_null(0)
    )


def _sum_if_known(column: str, where: pl.Expr) -> pl.Expr:
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).filter(where).sum())
