"""How do forward, backward and optimizer share each step, on the host and on the device?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.intervals import covered_per_window, of_frame
from analyze.schema import Column

COLUMNS = (
    Column("step", pl.Int64, "", "step"),
    Column("phase", pl.String, "", "forward, backward, optimizer, other"),
    Column("host_ns", pl.Int64, "ns", "host time covered by the phase's operators or labels"),
    Column("device_ns", pl.Int64, "ns", "summed device work launched in the phase; null without a device"),
    Column("kernel_count", pl.Int64, "", "device work items launched in the phase; null without a device"),
)

OPTIMIZER = r"^Optimizer\.(step|zero_grad)#"
#: the autograd engine's own label around every backward node
BACKWARD = "autograd::engine::evaluate_function"
PHASES = ("forward", "backward", "optimizer", "other")


def phases(
    steps: pl.DataFrame,
    op_roots: pl.DataFrame,
    annotations: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Every step by phase. What is recomputed for a checkpoint counts as backward; 'other' was launched outside operators."""
    optimizer = pl.DataFrame(schema={"start_ns": pl.Int64, "dur_ns": pl.Int64})
    if annotations is not None:
        labelled = ~pl.col("on_device") & pl.col("name").cast(pl.String).str.contains(OPTIMIZER)
        optimizer = annotations.filter(labelled).select("start_ns", "dur_ns")
    roots = op_roots.unique("root_id", maintain_order=True).select(
        "root_id", "start_ns", "dur_ns", name=pl.col("root_name").cast(pl.String)
    )
    named = _with_phase(roots, optimizer)
    start = steps["start_ns"].to_numpy()
    end = start + steps["dur_ns"].to_numpy()
    spans = {phase: of_frame(named.filter(pl.col("phase") == phase)) for phase in PHASES}
    spans["optimizer"] = of_frame(pl.concat([optimizer, named.filter(pl.col("phase") == "optimizer").select(optimizer.columns)]))
    host = pl.concat(
        [
            pl.DataFrame({"step": steps["step"], "host_ns": covered_per_window(spans[phase], start, end)}).with_columns(
                phase=pl.lit(phase)
            )
            for phase in PHASES
        ]
    )
    if launches is None or kernels is None:
        unknown = pl.lit(None, dtype=pl.Int64)
        result = host.with_columns(device_ns=unknown, kernel_count=unknown)
    else:
        started = _launched(launches, op_roots, named, optimizer)
        device = (
            device_work(kernels, copies)
            .join(started, on="launch_id")
            .group_by("step", "phase")
            .agg(device_ns=pl.col("dur_ns").sum(), kernel_count=pl.len().cast(pl.Int64))
        )
        result = host.join(device, on=["step", "phase"], how="left").with_columns(
            pl.col("device_ns", "kernel_count").fill_null(0)
        )
    order = pl.Series(PHASES)
    used = (pl.col("host_ns") > 0) | (pl.col("kernel_count") > 0).fill_null(value=False)
    return (
        result.filter(used)
        .sort("step", pl.col("phase").replace_strict(order, pl.Series(range(4)), return_dtype=pl.Int64))
        .select(column.name for column in COLUMNS)
    )


def _in_optimizer(times: pl.Series, optimizer: pl.DataFrame) -> pl.Series:
    at = times.to_numpy()
    return pl.Series(covered_per_window(of_frame(optimizer), at, at + 1) > 0, dtype=pl.Boolean)


def _with_phase(roots: pl.DataFrame, optimizer: pl.DataFrame) -> pl.DataFrame:
    return roots.with_columns(
        phase=pl.when(_in_optimizer(roots["start_ns"], optimizer))
        .then(pl.lit("optimizer"))
        .when(pl.col("name").str.starts_with(BACKWARD))
        .then(pl.lit("backward"))
        .otherwise(pl.lit("forward"))
    )


def _launched(launches: pl.DataFrame, op_roots: pl.DataFrame, named: pl.DataFrame, optimizer: pl.DataFrame) -> pl.DataFrame:
    """Phase of each launching call, from the top-level operator around it, else from the optimizer's label."""
    root = op_roots.select(op_id="id", root_id="root_id").join(named.select("root_id", "phase"), on="root_id")
    calls = launches.select("op_id", "start_ns", launch_id="id").join(
        root.drop("root_id"), on="op_id", how="left", maintain_order="left"
    )
    outside = pl.when(_in_optimizer(calls["start_ns"], optimizer)).then(pl.lit("optimizer")).otherwise(pl.lit("other"))
    return calls.select("launch_id", phase=pl.coalesce("phase", outside))
