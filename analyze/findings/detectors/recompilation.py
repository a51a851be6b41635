"""torch.compile compiles again inside steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import replayed
from analyze.intervals import of_frame
from analyze.replay.edits import without_host_regions
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="recompilation",
    title="The model is compiled again during training",
    meaning=(
        "torch.compile specialises on shapes and values. When they change it compiles once more, which takes seconds on the "
        "host, and after eight variants it gives up and runs uncompiled."
    ),
    measured=(
        "Compilation spans of TorchDynamo and Inductor within recorded steps. Saving: the recorded steps replayed without "
        "them; compilation in one step of several is reported per occurrence, without a saving per step."
    ),
    fix=(
        Remedy(text="See what changes", code="TORCH_LOGS=recompiles python train.py"),
        Remedy(
            text="Mark the dimension that varies, or compile for any size",
            code="torch._dynamo.mark_dynamic(x, 0)\nmodel = torch.compile(model, dynamic=True)",
        ),
        Remedy(text="Pad or bucket inputs to a few shapes; drop the odd last batch", code="DataLoader(..., drop_last=True)"),
    ),
    doc="https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
)

#: labels that the compiler's phases leave in traces, of several releases
COMPILING = (
    r"(?i)^(torchdynamo|dynamo|_?compile[_.]|compile_fx|inductor|aotautograd|backend_compile|entire_frame_compile"
    r"|.*\(dynamo_timed\)|.*_compile\.compile_inner)"
)
#: cache look-ups and the like are not compilations
NOT_COMPILING = r"(?i)cache lookup|compiled region|compiledfunction|guard"
#: a compilation takes longer than this; shorter spans with such a name are bookkeeping
MIN_SPAN_NS = 5_000_000


def detect(replay: Replay, steps: pl.DataFrame, annotations: pl.DataFrame, cpu_ops: pl.DataFrame | None = None) -> list[Finding]:
    """One saving where several steps compile, a note where one does."""
    columns = ["name", "start_ns", "dur_ns", "step"]
    spans = [annotations.filter(~pl.col("on_device")).select(columns)]
    if cpu_ops is not None:
        spans.append(cpu_ops.select(columns))
    name = pl.col("name").cast(pl.String)
    compiling = pl.concat(spans).filter(
        name.str.contains(COMPILING),
        ~name.str.contains(NOT_COMPILING),
        pl.col("dur_ns") >= MIN_SPAN_NS,
        pl.col("step").is_not_null(),
    )
    if compiling.is_empty():
        return []
    evidence = compiling.sort("dur_ns", descending=True, maintain_order=True).head(50)
    location = str(evidence["name"][0])
    longest = number(compiling["dur_ns"].max()) / 1e6
    affected = compiling["step"].n_unique()
    if affected == 1 and steps.height > 1:
        message = f"One of {steps.height} recorded steps compiles for {longest:,.0f} ms; divide by how often that happens."
        return [Finding(detector=DETECTOR.id, kind="note", message=message, confidence=0.8, location=location, evidence=evidence)]
    return replayed(
        DETECTOR.id,
        replay,
        without_host_regions(of_frame(compiling)),
        host_side=False,
        message=(
            f"{affected} of {steps.height} recorded steps compile, for up to {longest:,.0f} ms; compiled once they would give "
            "back {saving}."
        ),
        location=location,
        evidence=evidence,
        thresholds={"min_span_ns": MIN_SPAN_NS},
    )
