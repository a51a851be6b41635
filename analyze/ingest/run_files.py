"""What do the files beside the traces of a run directory say: manifests, step logs, telemetry?"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze import schema
from analyze.ingest.recording import SetAside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from analyze.ingest.sources import Source

MANIFEST = re.compile(r"^manifest\.(\d+)\.json$")
STEP_LOG = re.compile(r"^steps\.(\d+)\.jsonl$")
TELEMETRY = re.compile(r"^telemetry\.(.*)\.jsonl$")
#: keys of a sample that are no metrics
SAMPLE_KEYS = frozenset({"time_ns", "source", "device_uuid"})
#: unit by the ending of a metric's name
UNITS = {
    "_percent": "%",
    "_bytes_per_s": "bytes/s",
    "_bytes": "bytes",
    "_w": "W",
    "_j": "J",
    "_temperature_c": "°C",
    "temperature_c": "°C",
    "_mhz": "MHz",
    "_s": "s",
    "_ns": "ns",
}


class RunFiles:
    """Gathers the files of a run directory that are no traces."""

    def __init__(self) -> None:
        self.manifests: dict[int, dict[str, Any]] = {}
        self.telemetry_headers: dict[str, Mapping[str, Any]] = {}
        self.logs: list[pl.DataFrame] = []
        self.samples: list[pl.DataFrame] = []

    def take(self, source: Source, aside: list[SetAside]) -> bool:
        """Whether the file is one of these; one that cannot be read is set aside."""
        try:
            if found := MANIFEST.match(source.name):
                self.manifests[int(found[1])] = manifest(source.local)
            elif found := STEP_LOG.match(source.name):
                self.logs.append(step_log(int(found[1]), source.local))
            elif found := TELEMETRY.match(source.name):
                header, frame = telemetry(source.local, found[1])
                self.telemetry_headers[str(header.get("host") or found[1])] = header
                self.samples.append(frame)
            else:
                return False
        except (ValueError, OSError) as problem:
            aside.append(SetAside(file=source.name, reason=str(problem)))
        return True

    def step_log(self) -> pl.DataFrame | None:
        """Steps of all ranks, in order."""
        return pl.concat(self.logs).sort("rank", "start_ns", maintain_order=True) if self.logs else None

    def telemetry(self) -> pl.DataFrame | None:
        """Samples of all hosts, in order of time."""
        return pl.concat(self.samples).sort("time_ns", maintain_order=True) if self.samples else None


def manifest(path: Path) -> dict[str, Any]:
    """Read one manifest; raises ValueError where the file is none."""
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict) or value.get("format") != "stepscope-run":
        raise ValueError("not a manifest of a recorded run")
    return value


def step_log(rank: int, path: Path) -> pl.DataFrame:
    """Read one rank's steps; half-written lines are left out."""
    columns = schema.TABLES["step_log"]
    rows = [{**row, "rank": rank} for row in _objects(path)]
    return _typed(rows, columns)


def telemetry(path: Path, host: str) -> tuple[dict[str, Any], pl.DataFrame]:
    """Header and long-form samples of one host; metrics that a device lacks are absent."""
    header: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for value in _objects(path):
        if "header" in value and isinstance(value["header"], dict):
            header = value["header"]
            continue
        rows += _samples(value, str(header.get("host") or host))
    return header, _typed(rows, schema.TABLES["telemetry"])


def _samples(value: Mapping[str, Any], host: str) -> Iterator[dict[str, Any]]:
    shared = {
        "time_ns": value.get("time_ns"),
        "host": host,
        "source": value.get("source"),
        "device_uuid": value.get("device_uuid"),
    }
    for metric, measured in value.items():
        if metric in SAMPLE_KEYS:
            continue
        for name, number in _numbers(metric, measured):
            yield {**shared, "metric": name, "value": number, "unit": unit(metric)}


def _numbers(metric: str, measured: object) -> Iterator[tuple[str, float | None]]:
    """One number per metric: lists by position, words as a 1 under their own name."""
    if measured is None or isinstance(measured, (int, float)):
        yield metric, None if measured is None else float(measured)
    elif isinstance(measured, list):
        if all(isinstance(each, str) for each in measured):
            # none of the words is an answer too, and not the same as no answer
            yield metric, float(len(measured))
        for index, each in enumerate(measured):
            if isinstance(each, str):
                yield f"{metric}.{each}", 1.0
            elif isinstance(each, (int, float)):
                yield f"{metric}.{index}", float(each)


def unit(metric: str) -> str:
    """Return the unit that the metric's name carries; '' where it carries none."""
    return next(
        (sign for ending, sign in UNITS.items() if metric.endswith(ending) or metric == ending.lstrip("_")),
        "%" if metric.endswith("_percent_per_core") else "",
    )


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                yield value


def _typed(rows: Sequence[Mapping[str, Any]], columns: tuple[schema.Column, ...]) -> pl.DataFrame:
    loose = {each.name: pl.String if each.dtype == pl.Categorical else each.dtype for each in columns}
    kept = [{name: row.get(name) for name in loose} for row in rows]
    frame = pl.DataFrame(kept, schema=loose, strict=False)
    return frame.select(pl.col(each.name).cast(each.dtype) for each in columns)
