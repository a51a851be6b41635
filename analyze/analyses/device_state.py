"""How did each sampled GPU run while steps ran: busy, warm, clocked down, and why?"""

from __future__ import annotations

import polars as pl

from analyze.analyses._step_samples import measured, step_samples
from analyze.schema import Column

COLUMNS = (
    Column("host", pl.String, "", "host name"),
    Column("device_uuid", pl.String, "", "device"),
    Column("samples", pl.Int64, "", "samples within the steps"),
    Column("utilisation_percent", pl.Float64, "%", "mean share of time in which a kernel ran"),
    Column("highest_utilisation_percent", pl.Float64, "%", "highest sample of it"),
    Column("power_w", pl.Float64, "W", "mean power"),
    Column("highest_power_w", pl.Float64, "W", "95th percentile of the power"),
    Column("temperature_c", pl.Float64, "°C", "highest temperature"),
    Column("sm_clock_mhz", pl.Float64, "MHz", "median clock of the multiprocessors"),
    Column("highest_sm_clock_mhz", pl.Float64, "MHz", "highest clock of the whole run, warm-up included"),
    Column("memory_used_bytes", pl.Int64, "bytes", "highest memory in use, of all processes and the allocator's cache"),
    Column("memory_total_bytes", pl.Int64, "bytes", "memory of the device"),
    Column("other_processes_count", pl.Int64, "", "most processes on it that are not the run's; null where not known"),
    Column("other_processes_bytes", pl.Int64, "bytes", "most memory that those held; null likewise"),
    Column("other_processes_sm_percent", pl.Float64, "%", "mean share of the run in which their kernels ran; null likewise"),
    Column("other_processes_samples", pl.Int64, "", "samples of that share"),
    Column("thermal_share", pl.Float64, "", "share of samples slowed down by heat; null where reasons were not sampled"),
    Column("power_cap_share", pl.Float64, "", "share of samples slowed down by the power limit; null likewise"),
    Column("power_brake_share", pl.Float64, "", "share of samples slowed down by the server's power supply; null likewise"),
    Column("set_clock_share", pl.Float64, "", "share of samples in which clock settings hold the clock down; null likewise"),
)
REASON = "throttle_reasons"
THERMAL, SLOWDOWN, BRAKE, CAP = "software_thermal", "hardware_slowdown", "hardware_power_brake", "power_cap"
SET_CLOCKS = ("application_clocks", "sync_boost", "display_clocks")
DEVICE = ["host", "device_uuid"]


def device_state(telemetry: pl.DataFrame, step_log: pl.DataFrame) -> pl.DataFrame:
    """One row per sampled device; raises MissingData where none was sampled within the steps."""
    samples = step_samples(telemetry, step_log, "nvml")
    whole_run = telemetry.with_columns(pl.col("metric", *DEVICE).cast(pl.String))
    highest = whole_run.group_by(DEVICE).agg(
        highest_sm_clock_mhz=measured("sm_clock_mhz").max(),
        # others do not care in which phase this run is, and a few steps are too short to tell how much they do
        other_processes_sm_percent=measured("other_processes_sm_percent").mean(),
        other_processes_samples=measured("other_processes_sm_percent").count().cast(pl.Int64),
        has_reasons=pl.col("metric").str.starts_with(REASON).any(),
    )
    shares = _shares(samples)
    none_set = [
        pl.when("has_reasons").then(pl.col(name).fill_null(0.0)).alias(name) for name in shares.columns if "share" in name
    ]
    return (
        samples.group_by(DEVICE)
        .agg(
            samples=pl.col("time_ns").n_unique().cast(pl.Int64),
            utilisation_percent=measured("utilisation_percent").mean(),
            highest_utilisation_percent=measured("utilisation_percent").max(),
            power_w=measured("power_w").mean(),
            highest_power_w=measured("power_w").quantile(0.95, "linear"),
            temperature_c=measured("temperature_c").max(),
            sm_clock_mhz=measured("sm_clock_mhz").median(),
            memory_used_bytes=measured("memory_used_bytes").max().cast(pl.Int64),
            memory_total_bytes=measured("memory_total_bytes").max().cast(pl.Int64),
            other_processes_count=measured("other_processes_count").max().cast(pl.Int64),
            other_processes_bytes=measured("other_processes_bytes").max().cast(pl.Int64),
        )
        .join(highest, on=DEVICE, how="left")
        .join(shares, on=DEVICE, how="left")
        .with_columns(none_set)
        .sort(DEVICE)
        .select(column.name for column in COLUMNS)
    )


def _shares(samples: pl.DataFrame) -> pl.DataFrame:
    """Shares of samples by what holds the clock down. Old drivers say 'slowdown' for heat and for the power brake alike."""

    def has(*reasons: str) -> pl.Expr:
        return pl.col("metric").is_in([f"{REASON}.{reason}" for reason in reasons]).any()

    each = samples.group_by(*DEVICE, "time_ns").agg(
        thermal_share=has(THERMAL, "hardware_thermal") | (has(SLOWDOWN) & ~has(BRAKE, CAP)),
        power_cap_share=has(CAP),
        power_brake_share=has(BRAKE),
        set_clock_share=has(*SET_CLOCKS),
    )
    return each.group_by(DEVICE).agg(pl.col("^.*_share$").mean())
