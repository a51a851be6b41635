"""What does the recording lack, and how much of it could not be put together?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.schema import DATA_QUALITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.trace_info import TraceInfo

COLUMNS = DATA_QUALITY

#: what a recording may be missing, and how to have it recorded
OPTIONAL = (
    (
        "shapes-missing",
        "has_shapes",
        "op_events",
        "input_dims",
        "no FLOPs and no efficiency by shape: record_shapes=True records shapes",
    ),
    (
        "stacks-missing",
        "has_stacks",
        "python_events",
        "id",
        "findings name operators instead of source lines: with_stack=True records stacks",
    ),
    ("memory-missing", "has_memory", "memory_events", "id", "no memory timeline: profile_memory=True records allocations"),
    (
        "sync-records-missing",
        "has_sync_records",
        "sync_events",
        "id",
        "waits are told from calls alone: enable_cuda_sync_events records them",
    ),
)
LAUNCH = r"(?i)Launch(Cooperative)?Kernel|GraphLaunch|ModuleLaunch"


def coverage(
    trace_info: TraceInfo,
    launches: pl.DataFrame | None = None,
    kernels: pl.DataFrame | None = None,
    copies: pl.DataFrame | None = None,
    steps: pl.DataFrame | None = None,
    quarantine: pl.LazyFrame | None = None,
    explained: Mapping[str, pl.LazyFrame] | None = None,
) -> pl.DataFrame:
    """Rows like those of data_quality: only what is missing or left over, with counts.

    What the explaining window recorded is not missing.
    """
    found: list[tuple[str, int, str]] = []
    found += [
        (cause, 1, detail)
        for cause, field, family, column, detail in OPTIONAL
        if not getattr(trace_info, field) and not _explained_by(explained, family, column)
    ]
    if not trace_info.devices:
        found.append(("device-properties-missing", 1, "peak rates and device fill are not known"))
    if trace_info.rank is None:
        found.append(("rank-missing", 1, "neither the file nor its name says which rank wrote it"))
    if not trace_info.time_is_absolute:
        found.append(("relative-time", 1, "times count from a private origin: telemetry and other ranks cannot be put beside it"))
    found += _launch_links(launches, kernels, copies)
    found += _steps(steps, launches, kernels, copies)
    if quarantine is not None and (count := quarantine.select(pl.len()).collect().item()):
        found.append(("implausible-times", count, "kept in the table quarantine, counted nowhere"))
    return pl.DataFrame(
        [(cause, count, None, detail, None) for cause, count, detail in found if count > 0],
        schema={column.name: column.dtype for column in COLUMNS},
        orient="row",
    )


def _explained_by(explained: Mapping[str, pl.LazyFrame] | None, family: str, column: str) -> bool:
    return explained is not None and bool(explained[family].select(pl.col(column).count() > 0).collect().item())


def _launch_links(
    launches: pl.DataFrame | None, kernels: pl.DataFrame | None, copies: pl.DataFrame | None
) -> list[tuple[str, int, str]]:
    work = [frame for frame in (kernels, copies) if frame is not None]
    orphans = sum(int(frame["launch_id"].null_count()) for frame in work)
    found = [("work-without-launch", orphans, "device work whose launching call is not in the recording, or not certain")]
    if launches is not None:
        is_launch = pl.col("name").cast(pl.String).str.contains(LAUNCH)
        empty = launches.filter(is_launch, pl.col("work_count") == 0).height
        if work:
            found.append(("launch-without-work", empty, "launches whose kernels are not in the recording"))
        else:
            found.append(("device-side-missing", empty, "launches, but no device work at all: device figures are unknown, not 0"))
        inflated = int(launches["profiler_overhead"].sum())
        found.append(("calls-inflated-by-profiler", inflated, "overlapped by the profiler's own buffer handling"))
    return found


def _steps(
    steps: pl.DataFrame | None, launches: pl.DataFrame | None, kernels: pl.DataFrame | None, copies: pl.DataFrame | None
) -> list[tuple[str, int, str]]:
    if steps is None:
        return [("steps-missing", 1, "no step markers, and no period to infer steps from: figures are for the whole recording")]
    found = [("steps-inferred", int(steps["inferred"].sum()), "steps found without markers")]
    work = [frame.select("step") for frame in (kernels, copies) if frame is not None]
    if work:
        with_work = pl.concat(work)["step"].drop_nulls().unique()
        without = steps.filter(~pl.col("step").is_in(with_work.implode())).height
        found.append(("steps-without-device-work", without, "steps that launched nothing"))
        outside = int(pl.concat(work)["step"].null_count())
        found.append(("work-outside-steps", outside, "device work launched before, between or after the steps"))
    if launches is not None:
        calls = launches.filter(pl.col("step").is_null()).height
        found.append(("calls-outside-steps", calls, "device calls made before, between or after the steps"))
    return found
