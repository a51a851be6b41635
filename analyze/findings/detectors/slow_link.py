"""Transfers between some ranks are slower than between others, or than the link allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.findings.joint_saving import jointly_replayed
from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.saving import digits
from analyze.hardware import find
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay
    from analyze.replay.joint import JointReplay
    from analyze.trace_info import TraceInfo

DETECTOR = Detector(
    id="slow-link",
    title="A link between ranks is slow",
    meaning=(
        "The same collective of the same size moves its bytes more slowly in one group of ranks than in another, or far below "
        "what the link between the devices can do: traffic takes another way than it should, a link is down or shared."
    ),
    measured=(
        "Bus bandwidth: payload over transfer time (from the last arrival to the end), times what crosses each link per byte. "
        "Compared between groups of equal size by kind and payload, and, for large payloads on one host, with the device link's "
        "peak. Saving: all ranks replayed with the slow group's transfers as fast as the fastest group's."
    ),
    fix=(
        Remedy(
            text="See how the devices are connected, and which way NCCL takes",
            code="nvidia-smi topo -m\nNCCL_DEBUG=INFO torchrun train.py",
        ),
        Remedy(text="Look for links that are down", code="nvidia-smi nvlink --status"),
        Remedy(
            text="Measure the link alone, without the training", code="# nccl-tests\n# ./all_reduce_perf -b 8M -e 1G -f 2 -g 8"
        ),
    ),
    doc="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
)

#: groups reach bandwidths within this factor of each other from call to call
SLOW_GROUP_RATIO = 0.8
#: large payloads reach half of the link's peak at least; below this something is wrong
MIN_LINK_SHARE = 0.2
#: smaller payloads are bound by latency, whatever the link
LARGE_BYTES = 32 << 20
#: fewer calls say little about a link
MIN_CALLS = 3
#: ranks that one host's device links connect, on most machines
RANKS_ON_ONE_HOST = 8
#: datasheets count both directions of a device link
DIRECTIONS_COUNT = 2


def detect(
    collective_costs: pl.DataFrame,
    joint_replay: JointReplay,
    trace_info: TraceInfo,
    rank_states: pl.DataFrame | None = None,
    replay: Replay | None = None,
) -> list[Finding]:
    """A saving per slow group, and a note where all are far below the link's peak."""
    sized = collective_costs.filter(pl.col("bus_bytes_per_s").is_not_null(), pl.col("bytes") >= LARGE_BYTES)
    if sized.is_empty():
        raise MissingData("no large collective with a known payload ran: nothing tells the link's rate")
    by = ["kind", "bytes", "ranks"]
    groups = sized.group_by(*by, "group").agg(
        bus_bytes_per_s=pl.col("bus_bytes_per_s").median(), calls=pl.len(), match=pl.col("match")
    )
    groups = groups.filter(pl.col("calls") >= MIN_CALLS).with_columns(best=pl.col("bus_bytes_per_s").max().over(by))
    slow = groups.filter(pl.col("bus_bytes_per_s") < SLOW_GROUP_RATIO * pl.col("best")).sort("bus_bytes_per_s")
    return [*_slow_groups(slow, joint_replay, replay), *_below_peak(sized, trace_info, rank_states)]


def _slow_groups(slow: pl.DataFrame, joint_replay: JointReplay, replay: Replay | None) -> list[Finding]:
    if slow.is_empty():
        return []
    calls = slow.explode("match").with_columns(left=pl.col("bus_bytes_per_s") / pl.col("best"))
    transfer = joint_replay.transfer.copy()
    transfer[calls["match"].to_numpy()] *= calls["left"].to_numpy()
    row = slow.row(0, named=True)
    return jointly_replayed(
        DETECTOR.id,
        joint_replay,
        joint_replay.saving(transfer=transfer),
        replay=replay,
        certainty=0.8,
        message=(
            f"Group {row['group']} moves {row['bytes'] / 1e6:,.0f} MB per {row['kind']} at "
            f"{digits(row['bus_bytes_per_s'] / 1e9)} GB/s of bus bandwidth where another group reaches "
            f"{digits(row['best'] / 1e9)}; "
            "as fast as that, it would save {saving}."
        ),
        location=f"group {row['group']}",
        evidence=slow.drop("match"),
        thresholds={"slow_group_ratio": SLOW_GROUP_RATIO},
    )


def _below_peak(sized: pl.DataFrame, trace_info: TraceInfo, rank_states: pl.DataFrame | None) -> list[Finding]:
    device = find(trace_info.devices[0].name) if trace_info.devices else None
    hosts = 1 if rank_states is None else rank_states["host"].drop_nulls().n_unique()
    if device is None or device.device_link_bytes_per_s is None or hosts > 1:
        return []
    local = sized.filter(pl.col("ranks") <= RANKS_ON_ONE_HOST)
    if local.height < MIN_CALLS:
        return []
    reached = number(local["bus_bytes_per_s"].quantile(0.9, "linear"))
    peak = device.device_link_bytes_per_s / DIRECTIONS_COUNT
    if reached >= MIN_LINK_SHARE * peak:
        return []
    return [
        Finding(
            detector=DETECTOR.id,
            kind="note",
            message=(
                f"Collectives of {LARGE_BYTES / 1e6:,.0f} MB and more reach {digits(reached / 1e9)} GB/s of bus bandwidth "
                "where the "
                f"device link of {device.name} can do {digits(peak / 1e9)}: these devices are not connected by it, or it is "
                "not used."
            ),
            confidence=0.5,
            severity=Severity.MEDIUM,
            location="device link",
            evidence=local.select("kind", "bytes", "ranks", "transfer_ns", "bus_bytes_per_s").head(50),
            thresholds={"min_link_share": MIN_LINK_SHARE},
        )
    ]
