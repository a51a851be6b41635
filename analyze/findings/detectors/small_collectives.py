"""Many small collectives, each of which costs mostly its latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import digits, modelled
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="small-collectives",
    title="Many small collectives cost mostly their latency",
    meaning=(
        "Each collective has a price that does not depend on its size: launching it on every rank and passing the word around. "
        "Hundreds of small ones pay it hundreds of times; joined into a few large ones they would cost little more than one."
    ),
    measured=(
        "Collectives of less than a megabyte by group and kind, each at the fastest call of its kind and size, so that waiting "
        "for other ranks does not count. Saving: what they hold the rank up for, less one call with all their bytes at the "
        "rate that the largest calls of the trace reach."
    ),
    fix=(
        Remedy(
            text="Let DDP gather gradients into buckets",
            code="model = DistributedDataParallel(model, bucket_cap_mb=25)",
        ),
        Remedy(
            text="Join tensors that are reduced together",
            code=("flat = torch.cat([tensor.flatten() for tensor in tensors])\ntorch.distributed.all_reduce(flat)"),
        ),
        Remedy(text="Average metrics every nth step rather than every step"),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design",
)

#: below this, latency outweighs the bytes on every link there is
SMALL_BYTES = 1 << 20
#: fewer of a group and kind in a step are not worth joining
MIN_CALLS = 20
#: rate assumed for the joined call where no large one shows a better: a modest network
USUAL_BYTES_PER_S = 5e9
#: how much of the latency remains when not all can be joined
CAUTIOUS_LEFT_SHARE = 0.5


def detect(collective_calls: pl.DataFrame, step_time: pl.DataFrame, replay: Replay | None = None) -> list[Finding]:
    """One finding for all kinds together."""
    sized = collective_calls.drop_nulls("bytes")
    if sized.is_empty():
        raise MissingData("the trace does not give the size of its collectives")
    steps = collective_calls["step"].n_unique()
    alike = ("group", "kind", "bytes")
    fastest = sized.with_columns(fastest_ns=pl.col("dur_ns").min().over(alike), usual_ns=pl.col("dur_ns").median().over(alike))
    # on a device what a call takes beyond the fastest is waiting for peers; on the host it is threads that wake each other, too
    own = pl.when(pl.col("stream").is_null()).then(pl.col("usual_ns")).otherwise(pl.col("fastest_ns"))
    small = fastest.filter(pl.col("bytes") < SMALL_BYTES).with_columns(cost_ns=pl.min_horizontal("blocked_ns", own))
    joined = small.group_by("group", "kind", maintain_order=True).agg(
        calls=pl.len() / steps,
        bytes_per_step=pl.col("bytes").sum() / steps,
        cost_ns=pl.col("cost_ns").sum() / steps,
        blocked_ns=pl.col("blocked_ns").sum() / steps,
        latency_ns=pl.col("fastest_ns").min(),
    )
    joined = joined.filter(pl.col("calls") >= MIN_CALLS)
    if joined.is_empty():
        return []
    after = joined["latency_ns"] + joined["bytes_per_step"] / _rate(fastest) * 1e9
    saving = number((joined["cost_ns"] - after).clip(0).sum())
    calls = number(joined["calls"].sum())
    profiled = number(step_time.filter("profiled")["step_ns"].mean())
    return modelled(
        DETECTOR.id,
        replay.step_ns if replay is not None else profiled,
        saving_ns=saving,
        low_ns=saving * CAUTIOUS_LEFT_SHARE,
        # one call waits once, where many wait many times
        high_ns=number(joined["blocked_ns"].sum()),
        message=(
            f"{calls:,.0f} collectives a step move less than a megabyte each, "
            f"{digits(number(joined['bytes_per_step'].sum()) / 1e6)} MB in all; joined they would save {{saving}}."
        ),
        location=f"{joined['kind'][0]} {joined['group'][0] or ''}".strip(),
        evidence=joined,
        thresholds={"small_bytes": float(SMALL_BYTES), "min_calls": float(MIN_CALLS)},
    )


def _rate(fastest: pl.DataFrame) -> float:
    """Bytes per second of the fastest large call."""
    large = fastest.filter(pl.col("bytes") >= SMALL_BYTES, pl.col("fastest_ns") > 0)
    if large.is_empty():
        return USUAL_BYTES_PER_S
    return number((large["bytes"] / large["fastest_ns"] * 1e9).max())
