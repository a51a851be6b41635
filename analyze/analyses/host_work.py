"""What is the host doing while the device stands still?"""

from __future__ import annotations

import polars as pl

from analyze.intervals import covered_per_window, of_frame
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "idle device"),
    Column("thread", pl.Categorical, "", "host thread"),
    Column("activity", pl.String, "", "operator, source (line that ran an operator), call, annotation, python"),
    Column("name", pl.String, "", "operator, runtime call, label, or file(line): function"),
    Column("idle_ns", pl.Int64, "ns", "idle device time spent in it, without what it contains; whole for annotations"),
    Column("count", pl.Int64, "", "spans that touch idle time"),
    Column("idle_fraction", pl.Float64, "", "share of the device's idle time; threads and activities overlap, so shares do too"),
)


def host_work(
    gpu_gaps: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    annotations: pl.DataFrame | None = None,
    python_calls: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Idle time of each device within steps by what each host thread ran, the largest first.

    Python functions and operators count without their children, so that the line that matters stands at the top.
    """
    spans = _spans(cpu_ops, launches, annotations, python_calls, op_sources)
    frames = []
    for device in gpu_gaps["device"].unique().sort():
        idle = of_frame(gpu_gaps.filter(pl.col("device").eq_missing(device)))
        start = spans["start_ns"].to_numpy()
        inside = pl.Series(covered_per_window(idle, start, start + spans["dur_ns"].to_numpy()), dtype=pl.Int64)
        touched = spans.with_columns(idle_ns=inside).filter(pl.col("idle_ns") > 0)
        children = touched.group_by("activity", id="parent_id").agg(within_ns=pl.col("idle_ns").sum())
        own = touched.join(children, on=["activity", "id"], how="left").with_columns(
            idle_ns=(pl.col("idle_ns") - pl.col("within_ns").fill_null(0)).clip(lower_bound=0),
            device=pl.lit(device, dtype=pl.Int64),
        )
        total = max(int((idle[1] - idle[0]).sum()), 1)
        frames.append(
            own.group_by("device", "thread", "activity", "name")
            .agg(pl.col("idle_ns").sum(), count=pl.len().cast(pl.Int64))
            .with_columns(idle_fraction=pl.col("idle_ns") / total)
        )
    empty = pl.DataFrame(schema={column.name: column.dtype for column in COLUMNS})
    return (
        pl.concat([empty, *(frame.select(column.name for column in COLUMNS) for frame in frames)])
        # operators whose line is unknown took part only to be taken off the lines around them
        .filter(pl.col("idle_ns") > 0, pl.col("name").is_not_null())
        .sort("device", "idle_ns", descending=[False, True])
    )


def _spans(
    cpu_ops: pl.DataFrame | None,
    launches: pl.DataFrame | None,
    annotations: pl.DataFrame | None,
    python_calls: pl.DataFrame | None,
    op_sources: pl.DataFrame | None,
) -> pl.DataFrame:
    """All host spans as activity, id, parent_id, thread, name, start_ns, dur_ns."""
    nothing = pl.lit(None, dtype=pl.Int64)
    marker = pl.col("name").cast(pl.String).str.starts_with("ProfilerStep#")
    by_line = None
    if cpu_ops is not None and op_sources is not None:
        by_line = cpu_ops.drop("name").join(op_sources.select("id", name="source"), on="id", how="left", maintain_order="left")
    kinds = (
        ("operator", cpu_ops, "id", pl.col("parent_id")),
        ("source", by_line, "id", pl.col("parent_id")),
        ("call", launches, "id", nothing),
        ("annotation", None if annotations is None else annotations.filter(~pl.col("on_device"), ~marker), "id", nothing),
        ("python", python_calls, "python_id", pl.col("python_parent_id")),
    )
    return pl.concat(
        [
            pl.DataFrame(
                schema={"activity": pl.String, "id": pl.Int64, "parent_id": pl.Int64, "thread": pl.Categorical}
                | {"name": pl.String, "start_ns": pl.Int64, "dur_ns": pl.Int64}
            ),
            *(
                frame.select(
                    pl.lit(activity).alias("activity"),
                    pl.col(key).alias("id"),
                    parent.alias("parent_id"),
                    "thread",
                    pl.col("name").cast(pl.String),
                    "start_ns",
                    "dur_ns",
                )
                for activity, frame, key, parent in kinds
                if frame is not None
            ),
        ]
    )
