"""How much memory do device and host need in each cell?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.scalars import number_or_none
from analyze.schema import Column
from analyze.study.stretch import stretch, within
from analyze.study.tables._cells import CELL, frame, named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analyze.study.model import Measured

COLUMNS = (
    *CELL,
    Column("device_allocated_bytes", pl.Int64, "bytes", "most that torch had allocated on the device; null without one"),
    Column("device_reserved_bytes", pl.Int64, "bytes", "most that its allocator held; null likewise"),
    Column("device_used_bytes", pl.Int64, "bytes", "most in use on the busiest device, other processes included"),
    Column("device_total_bytes", pl.Int64, "bytes", "memory of the device in use"),
    Column("process_bytes", pl.Int64, "bytes", "most of the process and its loader workers; pages they share count twice"),
    Column("host_used_bytes", pl.Int64, "bytes", "most in use on the host, by everything"),
    Column("host_total_bytes", pl.Int64, "bytes", "memory of the host"),
)


def memory(cells: Sequence[Measured]) -> pl.DataFrame:
    """One row per cell; what was not sampled or does not exist is null."""
    return frame(map(_row, cells), COLUMNS)


def _row(cell: Measured) -> dict[str, Any]:
    host = cell.manifest.get("host") or {}
    row = {
        **named(cell),
        "device_allocated_bytes": cell.manifest.get("peak_memory_allocated_bytes") if cell.device != "cpu" else None,
        "device_reserved_bytes": cell.manifest.get("peak_memory_reserved_bytes") if cell.device != "cpu" else None,
        "device_total_bytes": _total(cell.manifest) if cell.device != "cpu" else None,
        "host_total_bytes": host.get("memory_bytes"),
    }
    if cell.telemetry is None:
        return row
    samples = within(cell.telemetry, stretch(cell.step_log))
    if cell.device != "cpu":
        row["device_used_bytes"] = _most(samples, "nvml", "memory_used_bytes")
    own, workers = (_most(samples, "psutil", f"process_{whose}rss_bytes") for whose in ("", "children_"))
    row["process_bytes"] = None if own is None else own + (workers or 0)
    row["host_used_bytes"] = _most(samples, "psutil", "memory_used_bytes")
    return row


def _total(manifest: Mapping[str, Any]) -> int | None:
    cards = {card.get("index"): card for card in manifest.get("devices") or []}
    size = cards.get(manifest.get("current_device_index"), {}).get("memory_bytes")
    return None if size is None else int(size)


def _most(samples: pl.DataFrame, source: str, metric: str) -> int | None:
    found = number_or_none(samples.filter(pl.col("source") == source, pl.col("metric") == metric)["value"].max())
    return None if found is None else int(found)
