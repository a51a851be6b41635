"""How long does a step take, profiled and unprofiled?"""

from __future__ import annotations

import polars as pl

from analyze.scalars import whole
from analyze.schema import Column

COLUMNS = (
    Column("step", pl.Int64, "", "step number"),
    Column("step_ns", pl.Int64, "ns", "step time: from one step's last host or device activity to the next one's"),
    Column("host_ns", pl.Int64, "ns", "duration on the host; null for a step known only from the step log"),
    Column("device_end_ns", pl.Int64, "ns", "end of the last device work launched in the step; null without any"),
    Column("start_ns", pl.Int64, "ns", "where step_ns begins"),
    Column("input_wait_ns", pl.Int64, "ns", "wait for the next batch, from the step log; null where not measured"),
    Column("samples", pl.Int64, "", "samples in the step; null where unknown"),
    Column("profiled", pl.Boolean, "", "measured while the profiler recorded"),
    Column("cycle", pl.Int64, "", "profiler cycle; null for an unprofiled step"),
)

#: phases of the step log in which nothing is recorded and the step time has settled
UNPROFILED_PHASES = ("baseline",)
#: a first launch that starts later than this after its call waited for work that the trace does not hold
UNSEEN_BACKLOG_NS = 200_000


def step_time(
    steps: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
    launches: pl.DataFrame | None = None,
    step_log: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Profiled steps of the trace, then the unprofiled ones of the step log.

    A step ends when its host part and all device work launched in it have ended. Where the host runs ahead, its own
    markers are shorter than the step; the time from end to end is then the device's.
    """
    parts = [_empty()]
    if steps is not None:
        parts.append(_profiled(steps, kernels, copies, launches))
    if step_log is not None:
        parts.append(_unprofiled(step_log))
    return pl.concat(parts)


def _empty() -> pl.DataFrame:
    return pl.DataFrame(schema={column.name: column.dtype for column in COLUMNS})


def _profiled(
    steps: pl.DataFrame, kernels: pl.DataFrame | None, copies: pl.DataFrame | None, launches: pl.DataFrame | None
) -> pl.DataFrame:
    columns = ["step", "start_ns", "dur_ns", "launch_id"]
    work = pl.concat(
        [frame.select(columns) for frame in (kernels, copies) if frame is not None]
        or [pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64))]
    ).with_columns(end_ns=pl.col("start_ns") + pl.col("dur_ns"))
    device_end = work.drop_nulls("step").group_by("step").agg(device_end_ns=pl.col("end_ns").max())
    host_end = pl.col("start_ns") + pl.col("dur_ns")
    finish = pl.max_horizontal(host_end, "device_end_ns").cum_max().over("cycle")
    return (
        steps.sort("start_ns")
        .join(device_end, on="step", how="left", maintain_order="left")
        .with_columns(finish=finish, host_ns="dur_ns")
        .with_columns(start_ns=pl.col("finish").shift(1).over("cycle").fill_null(_first_start(work, steps, launches)))
        .with_columns(step_ns=pl.col("finish") - pl.col("start_ns"), profiled=pl.lit(value=True))
        .with_columns(input_wait_ns=pl.lit(None, dtype=pl.Int64), samples=pl.lit(None, dtype=pl.Int64))
        .select(column.name for column in COLUMNS)
    )


def _first_start(work: pl.DataFrame, steps: pl.DataFrame, launches: pl.DataFrame | None) -> pl.Expr:
    """A cycle's first step begins with its marker, or when work launched before the window has drained.

    Work of the steps before is often not recorded: then the first launched work starts long after its launch.
    """
    first = whole(steps["start_ns"].min())
    earlier = work.filter(pl.col("step").is_null(), pl.col("start_ns") < first)["end_ns"].max()
    drained = pl.max_horizontal("start_ns", pl.lit(earlier, dtype=pl.Int64))
    if launches is None or work.is_empty():
        return drained
    begun = launches.select(launch_id="id", launched_ns="start_ns")
    delays = (
        work.join(begun, on="launch_id")
        .sort("launched_ns", "start_ns")
        .group_by("step", maintain_order=True)
        .agg(delay=(pl.col("start_ns") - pl.col("launched_ns")).first())
    )
    delay = pl.col("step").replace_strict(delays["step"], delays["delay"], default=0, return_dtype=pl.Int64)
    return pl.max_horizontal(drained, pl.col("start_ns") + pl.when(delay > UNSEEN_BACKLOG_NS).then(delay).otherwise(0))


def _unprofiled(step_log: pl.DataFrame) -> pl.DataFrame:
    nothing = pl.lit(None, dtype=pl.Int64)
    return (
        step_log.filter(pl.col("phase").cast(pl.String).is_in(UNPROFILED_PHASES))
        .with_columns(
            step_ns="dur_ns",
            host_ns="dur_ns",
            device_end_ns=nothing,
            cycle=nothing,
            profiled=pl.lit(value=False),
        )
        .select(column.name for column in COLUMNS)
    )
