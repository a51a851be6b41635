"""Python's garbage collector stops the training thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import digits, replayed
from analyze.intervals import of_frame
from analyze.replay.edits import without_host_regions
from analyze.scalars import number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from analyze.replay import Replay

DETECTOR = Detector(
    id="gc-pause",
    title="Garbage collection pauses the training loop",
    meaning=(
        "Python's collector walks all live objects now and then, on the training thread. With many objects alive a full "
        "collection takes tens of milliseconds, and at a bad moment the GPU runs dry."
    ),
    measured=(
        "Collections that the recorder marked in the profiled steps. Saving: the recorded steps replayed without them, averaged "
        "over the window."
    ),
    fix=(
        Remedy(text="Freeze what lives as long as the program, after warm-up", code="import gc\ngc.collect(); gc.freeze()"),
        Remedy(text="Collect when it does not hurt", code="gc.disable()\n# … and every 1,000 steps:\ngc.collect(1)"),
        Remedy(text="Do not call gc.collect() or torch.cuda.empty_cache() in the loop"),
    ),
    doc="https://docs.python.org/3/library/gc.html#gc.freeze",
)

NAME = r"^gc\.collect"
#: collections take host time only; a small share of many steps is worth a line of code
MIN_SHARE = 0.01


def detect(replay: Replay, annotations: pl.DataFrame, manifest: Mapping[str, Any] | None = None) -> list[Finding]:
    """One finding for the collections of the window; raises MissingData where nobody marked them."""
    pauses = annotations.filter(
        pl.col("name").cast(pl.String).str.contains(NAME), ~pl.col("on_device"), pl.col("step").is_not_null()
    )
    if pauses.is_empty():
        if manifest is None:
            raise MissingData("garbage collections are marked only in runs recorded by stepscope")
        return []
    longest = number(pauses["dur_ns"].max()) / 1e6
    return replayed(
        DETECTOR.id,
        replay,
        without_host_regions(of_frame(pauses)),
        host_side=False,
        min_share=MIN_SHARE,
        certainty=min(1.0, pauses["step"].n_unique() / replay.program.steps + 0.5),
        message=(
            f"{digits(pauses.height / replay.program.steps)} garbage collections a step, the longest of {digits(longest)} "
            "ms; without "
            "them the step would give back {saving}."
        ),
        location="Python's garbage collector",
        evidence=pauses.sort("dur_ns", descending=True, maintain_order=True)
        .select("step", "name", "start_ns", "dur_ns")
        .head(50),
        thresholds={"min_share": MIN_SHARE},
    )
