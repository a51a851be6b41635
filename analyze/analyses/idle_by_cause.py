"""Why does each device, and each of its streams, stand still?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._device_work import device_work
from analyze.schema import Column

COLUMNS = (
    Column("device", pl.Int64, "", "device"),
    Column("stream", pl.Int64, "", "stream; null for the device as a whole (no stream has work)"),
    Column("cause", pl.String, "", "device: as in gpu_gaps; stream: late_launch, spacing, dependency"),
    Column("idle_ns", pl.Int64, "ns", "idle time with this cause"),
    Column("gap_count", pl.Int64, "", "idle spans with this cause"),
    Column("idle_fraction", pl.Float64, "", "share of the idle time of the device or stream"),
)

#: a queued kernel that starts within this of its predecessor waited for the device's own hand-over, not for an event
SPACING_NS = 30_000


def idle_by_cause(
    kernels: pl.DataFrame,
    copies: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    gpu_gaps: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Idle time of devices within the profiled steps, and of streams between their first and last work.

    A stream idles through late_launch where its next work was launched only after the work before had ended, through
    spacing where the work was queued and the gap short, through dependency where it was queued and still did not start.
    """
    parts = [] if gpu_gaps is None else [_devices(gpu_gaps)]
    parts.append(_streams(device_work(kernels, copies), launches))
    return (
        pl.concat(parts)
        .filter(pl.col("idle_ns") > 0)
        .with_columns(idle_fraction=pl.col("idle_ns") / pl.col("idle_ns").sum().over("device", "stream"))
        .sort("device", "stream", "idle_ns", descending=[False, False, True], nulls_last=False)
        .select(column.name for column in COLUMNS)
    )


def _devices(gpu_gaps: pl.DataFrame) -> pl.DataFrame:
    """Gaps split by cause: an instant has one cause, a gap may have several."""
    causes = [name for name in gpu_gaps.columns if name.endswith("_ns") and name not in ("start_ns", "dur_ns")]
    return (
        gpu_gaps.select("device", *causes)
        .unpivot(causes, index="device", variable_name="cause", value_name="idle_ns")
        .filter(pl.col("idle_ns") > 0)
        .group_by("device", "cause")
        .agg(pl.col("idle_ns").sum(), gap_count=pl.len().cast(pl.Int64))
        .select(
            "device",
            pl.lit(None, dtype=pl.Int64).alias("stream"),
            pl.col("cause").str.strip_suffix("_ns"),
            "idle_ns",
            "gap_count",
        )
    )


def _streams(work: pl.DataFrame, launches: pl.DataFrame | None) -> pl.DataFrame:
    launched = (
        pl.DataFrame(schema={"launch_id": pl.Int64, "launched_ns": pl.Int64})
        if launches is None
        else launches.select(launch_id="id", launched_ns="start_ns")
    )
    finish = pl.col("start_ns") + pl.col("dur_ns")
    gap = pl.col("start_ns") - pl.col("previous_end")
    cause = (
        pl.when(pl.col("launched_ns").is_null())
        .then(pl.lit("unknown"))
        .when(pl.col("launched_ns") > pl.col("previous_end"))
        .then(pl.lit("late_launch"))
        .when(gap < SPACING_NS)
        .then(pl.lit("spacing"))
        .otherwise(pl.lit("dependency"))
    )
    return (
        work.join(launched, on="launch_id", how="left", maintain_order="left")
        .with_columns(previous_end=finish.cum_max().shift(1).over("device", "stream"))
        .filter(gap > 0)
        .group_by("device", "stream", cause=cause)
        .agg(idle_ns=gap.sum(), gap_count=pl.len().cast(pl.Int64))
        .select("device", "stream", "cause", "idle_ns", "gap_count")
    )
