"""The optimizer updates parameter by parameter instead of all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import digits, replayed
from analyze.intervals import of_frame
from analyze.replay.edits import combine, with_work_scaled, without_host_regions
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

DETECTOR = Detector(
    id="unfused-optimizer",
    title="The optimizer step runs one small kernel after another",
    meaning=(
        "The update is a loop over parameters with several tiny kernels each, so the optimizer costs thousands of launches. "
        "Fused or multi-tensor implementations update all parameters with a handful of kernels."
    ),
    measured=(
        "Launches within Optimizer.step per parameter. Saving: the recorded steps replayed with the optimizer's host time down "
        "to gathering the parameters and its device time down to one pass over the state."
    ),
    fix=(
        Remedy(
            text="Ask for the fused implementation", code="optimizer = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)"
        ),
        Remedy(
            text="Where fused is not available, the multi-tensor one",
            code="optimizer = torch.optim.SGD(model.parameters(), lr=lr, foreach=True)",
        ),
        Remedy(text="Compile an optimizer that has neither", code="step = torch.compile(optimizer.step)"),
    ),
    doc="https://docs.pytorch.org/docs/stable/optim.html#algorithms",
)

CALL = r"^Optimizer\.step#"
#: fewer launches per call are fused or multi-tensor already
MIN_LAUNCHES_PER_CALL = 40
#: kernels of multi-tensor implementations as a share of the optimizer's: above it the setting is right
MAX_FUSED_SHARE = 0.2
#: host time for gathering one parameter of a fused update, ns: low, usual, high
GATHER_LOW_NS, GATHER_NS, GATHER_HIGH_NS = 2_000.0, 6_000.0, 15_000.0
#: a fused update reads and writes each state once; the unfused kernels did so several times
LEFT_DEVICE_TIME_SHARE = 0.35


def detect(
    replay: Replay, annotations: pl.DataFrame, launches: pl.DataFrame, kernels: pl.DataFrame, cpu_ops: pl.DataFrame
) -> list[Finding]:
    """One finding where optimizer calls launch per parameter."""
    calls = annotations.filter(
        ~pl.col("on_device"), pl.col("name").cast(pl.String).str.contains(CALL), pl.col("step").is_not_null()
    ).sort("start_ns")
    if calls.is_empty():
        return []
    inside = _within(launches.filter(pl.col("work_count") > 0), calls)
    mine = kernels.join(inside.select(launch_id="id"), on="launch_id", how="semi")
    per_call = inside.height / calls.height
    fused = mine.filter(pl.col("name").cast(pl.String).str.contains("multi_tensor|[Ff]used")).height / max(mine.height, 1)
    if per_call < MIN_LAUNCHES_PER_CALL or fused > MAX_FUSED_SHARE:
        return []
    parameters = _parameters(cpu_ops, calls)
    cautious, usual, optimistic = (_fused(calls, parameters * gather) for gather in (GATHER_HIGH_NS, GATHER_NS, GATHER_LOW_NS))
    device_ms = number(mine["dur_ns"].sum()) / replay.program.steps / 1e6
    return replayed(
        DETECTOR.id,
        replay,
        usual,
        cautious=cautious,
        optimistic=optimistic,
        host_side=True,
        message=(
            f"{calls['name'][0]} launches {per_call:,.0f} kernels for about {parameters:,.0f} parameters "
            f"({digits(number(calls['dur_ns'].mean()) / 1e6)} ms on the host while profiled, {digits(device_ms)} ms on the "
            "device); "
            "fused it would give back {saving}."
        ),
        location=str(calls["name"][0]),
        evidence=calls.select("step", "name", "start_ns", "dur_ns").head(50),
        thresholds={
            "min_launches_per_call": MIN_LAUNCHES_PER_CALL,
            "gather_ns": GATHER_NS,
            "left_device_time_share": LEFT_DEVICE_TIME_SHARE,
        },
    )


def _within(rows: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    bounds = calls.select("start_ns", until=pl.col("start_ns") + pl.col("dur_ns"))
    return (
        rows.sort("start_ns").join_asof(bounds, on="start_ns", strategy="backward").filter(pl.col("start_ns") < pl.col("until"))
    )


def _parameters(cpu_ops: pl.DataFrame, calls: pl.DataFrame) -> float:
    """Parameters updated per call: how often the median of the update's operators runs."""
    counts = (
        _within(cpu_ops.filter(pl.col("depth") <= 1), calls).group_by("name", maintain_order=True).len()["len"] / calls.height
    )
    often = counts.filter(counts >= number(counts.max() or 0.0) / 4)
    return number(often.median()) if not often.is_empty() else 1.0


def _fused(calls: pl.DataFrame, host_ns: float) -> Edit:
    """The calls shrink to host_ns each; of their device time LEFT_DEVICE_TIME_SHARE stays, in the kernels that stay."""
    share = min(host_ns / max(number(calls["dur_ns"].mean()), 1.0), 1.0)
    return combine(
        without_host_regions(of_frame(calls), keep_share=share, keep_work=True),
        with_work_scaled(of_frame(calls), LEFT_DEVICE_TIME_SHARE),
    )
