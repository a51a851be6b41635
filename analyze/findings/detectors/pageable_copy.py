"""Copies to the device from pageable memory: the host waits while the driver stages them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.places import place_of, with_places
from analyze.findings.saving import digits, replayed
from analyze.replay.edits import combine, with_work_duration, without_waits
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="pageable-copy",
    title="Copies from pageable memory hold up the step",
    meaning=(
        "A copy to the GPU from ordinary (pageable) memory is staged through a driver buffer, so it runs at a fraction of "
        "the link's speed and the Python thread waits for it; nothing else is launched meanwhile. From pinned memory the "
        "same copy runs at link speed and the call returns at once."
    ),
    measured=(
        "Host-to-device copies whose host side is pageable. Saving: the recorded steps replayed with these copies "
        "asynchronous and at the pinned rate this trace reaches, else at the host link's rate less protocol overhead."
    ),
    fix=(
        Remedy(
            text="Let the DataLoader pin its batches, and copy without blocking",
            code="loader = DataLoader(dataset, ..., pin_memory=True)\nbatch = batch.to(device, non_blocking=True)",
        ),
        Remedy(
            text="Pin tensors that are reused across steps, once, outside the loop",
            code="batch = batch.pin_memory()",
        ),
    ),
    doc="https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",
)

#: share of a link's nominal rate that large pinned copies reach
PINNED_EFFICIENCY_LOW, PINNED_EFFICIENCY, PINNED_EFFICIENCY_HIGH = 0.6, 0.8, 0.95
#: rate assumed for an unknown link, bytes/s: PCI Express 3.0 with 16 lanes, the slowest still common
UNKNOWN_LINK_BYTES_PER_S = 15.75e9
#: pinned copies from this size on show the link's rate
LARGE_COPY_BYTES = 1 << 20
#: setting a copy up costs the device this much beside its bytes
COPY_SETUP_NS = 1_500.0
#: an asynchronous copy call returns after about this long
ASYNC_CALL_NS = 8_000.0


def detect(
    replay: Replay,
    copies: pl.DataFrame,
    launches: pl.DataFrame,
    host_link: pl.DataFrame,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding for all pageable host-to-device copies of the window."""
    pageable = copies.filter(
        pl.col("direction") == "host-to-device",
        pl.col("host_memory") == "pageable",
        ~pl.col("for_exchange").fill_null(value=False),
        pl.col("launch_id").is_in(replay.program.call_id.tolist()),
    ).drop_nulls("bytes")
    if pageable.is_empty():
        return []
    seen = _pinned_rate(copies)
    link = float(host_link["bytes_per_s"][0] or UNKNOWN_LINK_BYTES_PER_S)
    rates = (
        (seen, seen, seen)
        if seen
        else tuple(link * e for e in (PINNED_EFFICIENCY_LOW, PINNED_EFFICIENCY, PINNED_EFFICIENCY_HIGH))
    )
    waits = _waits_of(pageable, launches)
    edits = [
        combine(with_work_duration(*_durations(pageable, rate)), without_waits(waits, cost_ns=ASYNC_CALL_NS)) for rate in rates
    ]
    steps = replay.program.steps
    worst = pageable.sort("dur_ns", descending=True, maintain_order=True).row(0, named=True)
    moved = number(pageable["bytes"].sum())
    reached = moved / max(number(pageable["dur_ns"].sum()), 1.0)
    return replayed(
        DETECTOR.id,
        replay,
        edits[1],
        cautious=edits[0],
        optimistic=edits[2],
        host_side=False,
        message=(
            f"{digits(pageable.height / steps)} host-to-device copies a step ({digits(moved / steps / 1e6)} MB) "
            f"come from pageable memory at {reached:.2g} GB/s and hold up the host; pinned and without blocking they "
            "would give back {saving}."
        ),
        location=place_of(worst["op_id"], cpu_ops, op_sources),
        evidence=with_places(
            pageable.sort("dur_ns", descending=True, maintain_order=True)
            .select("step", "device", "stream", "start_ns", "dur_ns", "bytes", "op_id")
            .head(50),
            cpu_ops,
            op_sources,
        ),
        thresholds={"pinned_rate_bytes_per_s": rates[1]},
    )


def _pinned_rate(copies: pl.DataFrame) -> float | None:
    """Rate of large pinned copies in this trace, bytes/s; None where there are none."""
    pinned = copies.filter(
        pl.col("host_memory") == "pinned", pl.col("direction") == "host-to-device", pl.col("bytes") >= LARGE_COPY_BYTES
    )
    return None if pinned.is_empty() else number(pinned["bytes"].sum()) / number(pinned["dur_ns"].sum()) * 1e9


def _durations(pageable: pl.DataFrame, rate: float) -> tuple[np.ndarray, np.ndarray]:
    recorded = pageable["dur_ns"].to_numpy().astype(np.float64)
    pinned = COPY_SETUP_NS + pageable["bytes"].to_numpy() / rate * 1e9
    return pageable["id"].to_numpy(), np.minimum(pinned, recorded)


def _waits_of(pageable: pl.DataFrame, launches: pl.DataFrame) -> np.ndarray:
    """The copying calls, and synchronisations in the same operator right after them: they go with non_blocking=True."""
    operators = pageable["op_id"].drop_nulls().unique()
    syncs = launches.filter(
        pl.col("op_id").is_in(operators.to_list()),
        pl.col("blocking").cast(pl.String).is_in(["stream", "device", "event"]),
    )
    return pl.concat([pageable["launch_id"], syncs["id"]]).to_numpy()
