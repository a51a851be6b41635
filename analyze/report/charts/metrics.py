"""Which sampled metrics are drawn, in which order, in which unit?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from analyze.findings.model import Summary

GIB = 1024**3


@dataclass(frozen=True, kw_only=True)
class Metric:
    """How one sampled metric is drawn."""

    title: str
    source: str
    #: of a metric with members, such as one value per core, the name before the dot
    name: str
    #: a value in the title's unit is value / divisor
    divisor: float = 1.0
    #: a running count, drawn as its rate per second
    counter: bool = False
    #: one row of colour for each member, instead of lines
    members: bool = False
    #: where the axis, or the colour, ends
    top: float | None = None
    from_zero: bool = True
    #: drawn unless the user chooses otherwise
    usual: bool = True


#: in the order of reading: is the device busy, what does it cost, is the host the reason
METRICS = (
    Metric(title="GPU utilisation, %", source="nvml", name="utilisation_percent", top=105),
    Metric(title="GPU power, W", source="nvml", name="power_w"),
    Metric(title="GPU memory, GiB", source="nvml", name="memory_used_bytes", divisor=GIB),
    Metric(title="GPU temperature, °C", source="nvml", name="temperature_c", from_zero=False),
    Metric(title="GPU SM clock, MHz", source="nvml", name="sm_clock_mhz", from_zero=False),
    Metric(title="GPU clocks held down by", source="nvml", name="throttle_reasons", members=True, top=1),
    Metric(title="GPU time of other processes, %", source="nvml", name="other_processes_sm_percent", top=105, usual=False),
    Metric(title="CPU, % of all cores", source="psutil", name="cpu_percent", top=105),
    Metric(title="CPU by core, %", source="psutil", name="cpu_percent_per_core", members=True, top=100),
    Metric(title="Training process CPU, % of one core", source="psutil", name="process_cpu_percent"),
    Metric(title="Host memory, GiB", source="psutil", name="memory_used_bytes", divisor=GIB),
    Metric(title="CPU temperature, °C", source="psutil", name="cpu_temperature_c", from_zero=False),
    Metric(title="Disk reads, MB/s", source="psutil", name="disk_read_bytes", divisor=1e6, counter=True),
    Metric(title="Network received, MB/s", source="psutil", name="net_received_bytes", divisor=1e6, counter=True),
)
#: enough to see whether the device is fed, and at what cost
OVERVIEW = ("utilisation_percent", "power_w", "memory_used_bytes", "temperature_c", "cpu_percent", "cpu_temperature_c")


def overview_metrics(summary: Summary) -> tuple[Metric, ...]:
    """Return the metrics that matter most; of a CPU-only run those of the host alone."""
    device = bool(summary.step_parts_ns) or summary.device_busy_fraction is not None
    return tuple(metric for metric in METRICS if metric.name in OVERVIEW and (device or metric.source != "nvml"))


def sampled(telemetry: pl.DataFrame) -> tuple[Metric, ...]:
    """Return every metric with a value, the known ones first, then the others under their own names."""
    name, member = base_name(), pl.col("metric").cast(pl.String).str.contains(".", literal=True)
    found = (
        telemetry.filter(pl.col("value").is_not_null())
        .select(pl.col("source", "unit").cast(pl.String), name=name, member=member)
        .unique()
        .sort("source", "name")
    )
    present = set(found.select("source", "name").rows())
    known = [metric for metric in METRICS if (metric.source, metric.name) in present]
    listed = {(metric.source, metric.name) for metric in METRICS}
    return (
        *known,
        *(
            Metric(
                title=f"{source} {name.replace('_', ' ')}{', ' + unit if unit else ''}",
                source=source,
                name=name,
                members=members,
                usual=False,
            )
            for source, unit, name, members in found.rows()
            if (source, name) not in listed
        ),
    )


def base_name() -> pl.Expr:
    """Name of a metric without its member: 'cpu_percent_per_core' of 'cpu_percent_per_core.3'."""
    return pl.col("metric").cast(pl.String).str.split(".").list.first()
