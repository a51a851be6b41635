"""The loop waits for input while the loaders wait for bytes."""

from __future__ import annotations

from typing import Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.scalars import number

DETECTOR = Detector(
    id="slow-storage",
    title="The data loaders wait for storage",
    meaning=(
        "The loop waits for its batches, yet those who load them hardly compute: they wait for files that come from a "
        "disk or over the network. More workers help only as long as the storage has more to give; decoding faster "
        "would not help at all."
    ),
    measured=(
        "Unprofiled steps that wait for input, while the loading processes use little processor time and bytes keep "
        "coming from disks or the network. No time is claimed beside that of input-pipeline-stall, of which this is "
        "the reason."
    ),
    fix=(
        Remedy(
            text="Copy the data set to a local disk, or to memory where it fits",
            code="$ rsync -a /network/dataset/ /local/dataset/",
        ),
        Remedy(text="Store samples in shards that are read from end to end, instead of one file each"),
        Remedy(
            text="Ask for more at once: slow storage often serves many readers at the same pace",
            code="loader = DataLoader(dataset, num_workers=16, prefetch_factor=8)",
        ),
    ),
    doc="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
)

#: waits shorter than this do not slow the step visibly
MIN_WAIT_SHARE = 0.10
#: a loader that decodes or augments keeps its processor busier than this
MAX_LOADER_CPU_PERCENT = 50.0
#: even a worn disk or a busy file server that is waited for delivers some megabytes a second
MIN_READ_BYTES_PER_S = 5e6


def detect(step_time: pl.DataFrame, host_state: pl.DataFrame, manifest: dict[str, Any] | None = None) -> list[Finding]:
    """One note where input is waited for, loaders are idle and bytes are read."""
    logged = step_time.filter(~pl.col("profiled"), pl.col("input_wait_ns").is_not_null())
    if logged.is_empty():
        raise MissingData("the step log does not say how long the loop waited for input")
    wait_share = number(logged["input_wait_ns"].sum()) / number(logged["step_ns"].sum())
    host = ((manifest or {}).get("host") or {}).get("name")
    rows = host_state.filter(pl.col("host") == host) if host in host_state["host"] else host_state.head(1)
    row = rows.row(0, named=True)
    workers = _worker_count(row, (manifest or {}).get("workers"))
    loader_percent = _loader_percent(row, workers)
    read = max(row["disk_read_bytes_per_s"] or 0.0, _from_network(row, manifest or {}))
    if loader_percent is None:
        raise MissingData("what the loading processes use was not sampled")
    if wait_share < MIN_WAIT_SHARE or loader_percent > MAX_LOADER_CPU_PERCENT or read < MIN_READ_BYTES_PER_S:
        return []
    from_where = "disks" if read == row["disk_read_bytes_per_s"] else "the network"
    loaders = (
        f"{workers:.0f} loading processes use {loader_percent:.0f} % of a processor each"
        if workers
        else (f"the training process, which loads them itself, uses {loader_percent:.0f} % of a processor")
    )
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"Steps wait for input {wait_share:.0%} of their time while {loaders} and {read / 1e6:,.0f} MB/s come "
                f"from {from_where}."
            ),
            confidence=0.5,
            severity=Severity.MEDIUM,
            location="the loader's next()",
            evidence=rows,
            thresholds={"min_wait_share": MIN_WAIT_SHARE, "max_loader_cpu_percent": MAX_LOADER_CPU_PERCENT},
        )
    ]


def _from_network(row: dict[str, Any], manifest: dict[str, Any]) -> float:
    """Bytes per second that the network brought; none that count where ranks exchange tensors over it, as gloo does."""
    return 0.0 if (manifest.get("world_size") or 1) > 1 else row["net_received_bytes_per_s"] or 0.0


def _worker_count(row: dict[str, Any], workers: object) -> float:
    """Loading processes: as the manifest says, else the children that were seen."""
    return float(workers) if isinstance(workers, int) else row["process_children_count"] or 0.0


def _loader_percent(row: dict[str, Any], workers: float) -> float | None:
    """Processor use of one loading process: of each worker, else of the training process itself."""
    if workers > 0:
        children = row["process_children_cpu_percent"]
        return None if children is None else float(children) / workers
    own = row["process_cpu_percent"]
    return None if own is None else float(own)
