"""The numbers at the top of a report, gathered from one rank's analyses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import StepTime, Summary
from analyze.scalars import number, number_or_none, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.engine import Workspace
    from analyze.replay import Replay
    from analyze.trace_info import TraceInfo


def step_time_of(workspace: Workspace) -> StepTime | None:
    """Step time of unprofiled steps where they are known, else of the profiled window; None without steps."""
    frame = _frame(workspace, "step_time")
    baseline_ms = _value(workspace, "baseline_step_ms")
    profiled, unprofiled = (frame.filter(pl.col("profiled") == flag) for flag in (True, False))
    profiled_mean = number_or_none(profiled["step_ns"].mean())
    if baseline_ms is not None:
        return StepTime(
            median_ns=baseline_ms * 1e6, mean_ns=baseline_ms * 1e6, p10_ns=None, p90_ns=None, count=0, profiled=False,
            source="--baseline-step-ms", profiled_mean_ns=profiled_mean,
        )  # fmt: skip
    chosen = profiled if unprofiled.is_empty() else unprofiled
    if chosen.is_empty():
        return None
    steps = _frame(workspace, "steps")
    times = chosen["step_ns"].cast(pl.Float64)
    return StepTime(
        median_ns=number(times.median()),
        mean_ns=number(times.mean()),
        p10_ns=times.quantile(0.1, "linear"),
        p90_ns=times.quantile(0.9, "linear"),
        count=times.len(),
        profiled=unprofiled.is_empty(),
        source="trace" if unprofiled.is_empty() else "step log",
        profiled_mean_ns=profiled_mean,
        inferred=bool(steps["inferred"].any()) if not steps.is_empty() else False,
    )


def summarise(workspace: Workspace, label: str) -> Summary:
    """Summary of one rank, without what playing all fixes together gives."""
    info: TraceInfo = workspace.get("trace_info")
    manifest: Mapping[str, Any] = _value(workspace, "manifest") or {}
    step_time = step_time_of(workspace)
    replay: Replay | None = _value(workspace, "replay")
    parts = _parts(_frame(workspace, "step_parts"))
    host = {} if parts else _scaled(_parts(_frame(workspace, "host_parts")), step_time)
    busy = _frame(workspace, "gpu_busy")
    batch = manifest.get("batch_size")
    return Summary(
        label=str(manifest.get("label") or label),
        device=_device(info, manifest, has_device=_has_device_work(workspace)),
        device_count=_devices_used(workspace),
        versions={str(k): str(v) for k, v in (manifest.get("packages") or {}).items() if v is not None},
        batch_size=int(batch) if batch is not None else None,
        rank=workspace.get("rank") if _value(workspace, "rank") is not None else info.rank,
        world_size=manifest.get("world_size") or info.world_size,
        step_time=step_time,
        step_parts_ns=parts,
        host_parts_ns=host,
        device_busy_fraction=_busy(busy, "busy_ns", parts, step_time),
        busy_without_collectives_fraction=_busy(busy, "busy_without_collectives_ns", parts, step_time),
        samples_per_s=_samples_per_s(_frame(workspace, "step_time"), batch, step_time),
        replay_error_fraction=replay.error_fraction if replay is not None else None,
        after_all_fixes_ns=None,
        floor_ns=_floor(parts),
        window_ns=_window(_frame(workspace, "step_time")),
    )


def _value(workspace: Workspace, name: str) -> Any:  # noqa: ANN401
    try:
        return workspace.get(name)
    except MissingData:
        return None


def _frame(workspace: Workspace, name: str) -> pl.DataFrame:
    """A frame, or one without rows that has the documented columns."""
    from analyze.engine import table_columns  # noqa: PLC0415 - engine imports the model this builds on

    found = _value(workspace, name)
    return found if found is not None else pl.DataFrame(schema={c.name: c.dtype for c in table_columns(name)})


def _parts(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.select("part", "ns").rows())


def _scaled(parts: dict[str, float], step_time: StepTime | None) -> dict[str, float]:
    """Host parts measured under the profiler, brought to the step time that the report gives."""
    measured = sum(parts.values())
    if step_time is None or measured == 0:
        return parts
    return {part: value * step_time.mean_ns / measured for part, value in parts.items()}


def _devices_used(workspace: Workspace) -> int:
    """Devices that this rank launched work on; a trace's header lists all of the host."""
    kernels = _value(workspace, "kernels")
    return 0 if kernels is None else max(int(kernels["device"].n_unique()), 1)


def _has_device_work(workspace: Workspace) -> bool:
    return _value(workspace, "kernels") is not None


def _device(info: TraceInfo, manifest: Mapping[str, Any], *, has_device: bool) -> str:
    if has_device:
        names = [device.name for device in info.devices if device.name]
        names = names or [str(device["name"]) for device in manifest.get("devices") or [] if device.get("name")]
        return names[0] if names else "GPU"
    return str((manifest.get("host") or {}).get("cpu_model") or "CPU")


def _busy(busy: pl.DataFrame, column: str, parts: dict[str, float], step_time: StepTime | None) -> float | None:
    """Share of the step, at the speed the report gives: busy time does not change with the profiler, the step does."""
    if busy.is_empty():
        return None
    by_device = busy.group_by("device").agg(pl.col(column).sum(), pl.col("span_ns").sum(), steps=pl.len())
    first = by_device.sort(column, descending=True).row(0, named=True)
    span = first["span_ns"] / first["steps"]
    if step_time is not None and parts:
        span = step_time.mean_ns
    return min(first[column] / first["steps"] / span, 1.0) if span else None


def _samples_per_s(steps: pl.DataFrame, batch: object, step_time: StepTime | None) -> float | None:
    if step_time is None:
        return None
    logged = steps.filter(~pl.col("profiled"), pl.col("samples").is_not_null())
    if not logged.is_empty():
        return number(logged["samples"].sum()) / number(logged["step_ns"].sum()) * 1e9
    return float(batch) / step_time.mean_ns * 1e9 if isinstance(batch, (int, float)) else None


def _floor(parts: dict[str, float]) -> float | None:
    """The step with a device that never idles."""
    return sum(ns for part, ns in parts.items() if not part.startswith(("idle_", "unexplained"))) if parts else None


def _window(step_time: pl.DataFrame) -> tuple[int, int] | None:
    profiled = step_time.filter("profiled")
    if profiled.is_empty():
        return None
    return whole(profiled["start_ns"].min()), whole((profiled["start_ns"] + profiled["step_ns"]).max())
