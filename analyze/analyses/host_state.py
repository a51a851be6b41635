"""How busy were the host's processors, memory and disks while steps ran?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._step_samples import measured, step_samples
from analyze.schema import Column

COLUMNS = (
    Column("host", pl.String, "", "host name"),
    Column("samples", pl.Int64, "", "samples within the steps"),
    Column("cpu_percent", pl.Float64, "%", "mean use of all processors"),
    Column("core_count", pl.Int64, "", "processors sampled; null where they were not sampled one by one"),
    Column("process_cpu_percent", pl.Float64, "%", "mean use by the training process; 100 is one processor"),
    Column("process_children_cpu_percent", pl.Float64, "%", "mean use by its children together; null without any"),
    Column("process_children_count", pl.Float64, "", "mean number of its children"),
    Column("process_rss_bytes", pl.Int64, "bytes", "highest memory of the training process and its children together"),
    Column("memory_available_bytes", pl.Int64, "bytes", "lowest memory that could still be had without swapping"),
    Column("memory_total_bytes", pl.Int64, "bytes", "memory in use and available together"),
    Column("swap_growth_bytes", pl.Int64, "bytes", "how much the used swap grew from the first to the highest sample"),
    Column("disk_read_bytes_per_s", pl.Float64, "bytes/s", "mean rate of reads from all disks"),
    Column("net_received_bytes_per_s", pl.Float64, "bytes/s", "mean rate of what the network brought"),
)


def host_state(telemetry: pl.DataFrame, step_log: pl.DataFrame) -> pl.DataFrame:
    """One row per sampled host; raises MissingData where none was sampled within the steps."""
    samples = step_samples(telemetry, step_log, "psutil")
    rss = measured("process_rss_bytes").max() + measured("process_children_rss_bytes").max().fill_null(0.0)
    cores = pl.col("metric").filter(pl.col("metric").str.starts_with("cpu_percent_per_core.")).n_unique().cast(pl.Int64)
    return (
        samples.group_by("host")
        .agg(
            samples=pl.col("time_ns").n_unique().cast(pl.Int64),
            cpu_percent=measured("cpu_percent").mean(),
            core_count=pl.when(cores > 0).then(cores),
            process_cpu_percent=measured("process_cpu_percent").mean(),
            process_children_cpu_percent=measured("process_children_cpu_percent").mean(),
            process_children_count=measured("process_children_count").mean(),
            process_rss_bytes=rss.cast(pl.Int64),
            memory_available_bytes=measured("memory_available_bytes").min().cast(pl.Int64),
            memory_total_bytes=(measured("memory_used_bytes") + measured("memory_available_bytes")).max().cast(pl.Int64),
            swap_growth_bytes=(measured("swap_used_bytes").max() - measured("swap_used_bytes").first()).cast(pl.Int64),
            disk_read_bytes_per_s=_rate("disk_read_bytes"),
            net_received_bytes_per_s=_rate("net_received_bytes"),
        )
        .sort("host")
        .select(column.name for column in COLUMNS)
    )


def _rate(counter: str) -> pl.Expr:
    """Mean growth of a counter per second between samples that follow each other; a window's export is no step."""
    counted, times = measured(counter), pl.col("time_ns").filter(pl.col("metric") == counter)
    elapsed = times.diff()
    beside = elapsed <= 2 * elapsed.median()
    seconds = elapsed.filter(beside).sum() / 1e9
    return pl.when(seconds > 0).then(counted.diff().filter(beside).sum() / seconds)
