"""On which device does this rank run, in what state, and how much of its memory does it fill?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.scalars import number_or_none
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("host", pl.String, "", "host name; null where unknown"),
    Column("device_uuid", pl.String, "", "device; null where unknown"),
    Column("device_name", pl.String, "", "device's name; null where unknown"),
    Column("sm_clock_mhz", pl.Float64, "MHz", "median clock within the steps; null where not sampled"),
    Column("power_w", pl.Float64, "W", "mean power within the steps; null likewise"),
    Column("temperature_c", pl.Float64, "°C", "highest temperature within the steps; null likewise"),
    Column("held_down_share", pl.Float64, "", "share of samples slowed down by heat or power; null where not sampled"),
    Column("peak_bytes", pl.Int64, "bytes", "most memory in use: torch's own peak, else the trace's, else the driver's"),
    Column("memory_total_bytes", pl.Int64, "bytes", "memory of the device"),
)


def rank_state(
    trace_info: TraceInfo,
    kernels: pl.DataFrame,
    manifest: Mapping[str, Any] | None = None,
    device_state: pl.DataFrame | None = None,
    memory_timeline: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row: the device that computes most."""
    busiest = kernels.group_by("device").agg(pl.col("dur_ns").sum()).sort("dur_ns", descending=True)["device"][0]
    if busiest is None:
        raise MissingData("the trace does not say on which device its kernels ran")
    known = next((device for device in trace_info.devices if device.index == busiest), None)
    listed: Mapping[str, Any] = next((one for one in (manifest or {}).get("devices") or () if one.get("index") == busiest), {})
    uuid = listed.get("uuid") or (known.uuid if known is not None else None)
    sampled = _sampled(device_state, uuid)
    row = {
        "host": ((manifest or {}).get("host") or {}).get("name") or sampled.get("host"),
        "device_uuid": uuid,
        "device_name": listed.get("name") or (known.name if known is not None else None),
        **{name: sampled.get(name) for name in ("sm_clock_mhz", "power_w", "temperature_c")},
        "held_down_share": _held_down(sampled),
        "peak_bytes": _peak(manifest, busiest, memory_timeline, sampled),
        "memory_total_bytes": listed.get("memory_bytes") or (known.memory_bytes if known is not None else None),
    }
    return pl.DataFrame([row], schema={column.name: column.dtype for column in COLUMNS})


def _sampled(device_state: pl.DataFrame | None, uuid: str | None) -> dict[str, Any]:
    if device_state is None or uuid is None:
        return {}
    found = device_state.filter(pl.col("device_uuid") == uuid)
    return found.row(0, named=True) if found.height else {}


def _held_down(sampled: Mapping[str, Any]) -> float | None:
    shares = [sampled.get(name) for name in ("thermal_share", "power_cap_share", "power_brake_share")]
    known = [share for share in shares if share is not None]
    return max(known) if known else None


def _peak(
    manifest: Mapping[str, Any] | None, device: int, memory_timeline: pl.DataFrame | None, sampled: Mapping[str, Any]
) -> int | None:
    told = (manifest or {}).get("peak_memory_allocated_bytes")
    if told and (manifest or {}).get("current_device_index") in (None, device):
        return int(told)
    if memory_timeline is not None:
        on_device = memory_timeline.filter(pl.col("device_type") != 0, pl.col("device") == device)
        highest = number_or_none(on_device["allocated_bytes"].max())
        if highest is not None:
            return int(highest)
    used = sampled.get("memory_used_bytes")
    return None if used is None else int(used)
