"""The device waits for the host to launch the next kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.exchanges import host_exchanges
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.places import costliest_place, with_places
from analyze.findings.saving import digits, replayed
from analyze.intervals import of_frame, union
from analyze.replay.edits import as_graph
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="launch-bound",
    title="The GPU waits for the host to launch work",
    meaning=(
        "The kernels are short and the Python side cannot launch them as fast as the GPU runs them, so the GPU idles "
        "between kernels. A faster GPU would change nothing; fewer, larger launches would."
    ),
    measured=(
        "Device idle time while the launching threads run operators. Saving: the recorded steps replayed with each step's "
        "launches as one CUDA graph; waits, loading and long stretches of other host work stay as they are."
    ),
    fix=(
        Remedy(
            text="Let the compiler fuse small kernels and capture the rest",
            code='model = torch.compile(model, mode="reduce-overhead")',
        ),
        Remedy(
            text="Capture the whole step in a CUDA graph where shapes are fixed",
            code="graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n    loss = step(static_input)\ngraph.replay()",
        ),
        Remedy(text="Give each launch more to do: a larger batch, where training allows it"),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs",
    symptom_of=("unfused-optimizer", "many-tiny-ops", "many-small-copies", "sync-in-step", "input-pipeline-stall"),
)

#: launching a captured graph, ns; its kernels then follow each other without the host
GRAPH_LAUNCH_NS = 30_000.0
#: a host stretch longer than this between two launches is work of its own, not launching; gathering the parameters of a
#: large optimizer takes about 2 ms
LONGEST_LAUNCH_GAP_NS = 3_000_000.0
#: share of the launching time that stays where only part of the step is captured or compiled
PARTIAL_CAPTURE_SHARE = 0.25
#: below this many launches a step there is little to capture
MIN_LAUNCHES_PER_STEP = 20


def detect(
    replay: Replay,
    gpu_gaps: pl.DataFrame,
    kernels: pl.DataFrame,
    input_wait: pl.DataFrame | None = None,
    cpu_ops: pl.DataFrame | None = None,
    op_sources: pl.DataFrame | None = None,
    collective_calls: pl.DataFrame | None = None,
) -> list[Finding]:
    """One finding where replaying with captured steps gives back device idle time."""
    program = replay.program
    launches_per_step = program.work_call.size / program.steps
    if launches_per_step < MIN_LAUNCHES_PER_STEP:
        return []
    # a host that waits for an exchange over the host launches nothing, and would not be captured
    elsewhere = host_exchanges(collective_calls, replay)
    if input_wait is not None:
        elsewhere = union(elsewhere, of_frame(input_wait))
    edits = [
        as_graph(
            launch_ns=GRAPH_LAUNCH_NS,
            longest_gap_ns=LONGEST_LAUNCH_GAP_NS,
            keep_regions=elsewhere,
            keep_share=share,
        )
        for share in (0.0, PARTIAL_CAPTURE_SHARE)
    ]
    mean_kernel_us = number(kernels["dur_ns"].mean()) / 1e3
    waiting = _with_awaited_operator(gpu_gaps, kernels)
    return replayed(
        DETECTOR.id,
        replay,
        edits[0],
        cautious=edits[1],
        host_side=True,
        message=(
            f"{launches_per_step:,.0f} launches a step, of {digits(mean_kernel_us)} µs on the GPU on average, come later than it "
            "could run them; captured or compiled they would give back {saving}."
        ),
        location=costliest_place(waiting.select("op_id", cost_ns="launch_ns"), cpu_ops, op_sources, of="the idle time"),
        evidence=with_places(waiting.head(50), cpu_ops, op_sources),
        thresholds={"longest_launch_gap_ns": LONGEST_LAUNCH_GAP_NS, "graph_launch_ns": GRAPH_LAUNCH_NS},
    )


def _with_awaited_operator(gpu_gaps: pl.DataFrame, kernels: pl.DataFrame) -> pl.DataFrame:
    """Launch gaps, longest first, with the operator whose kernel ended each."""
    begun = kernels.select("device", "op_id", until="start_ns").unique(["device", "until"])
    return (
        gpu_gaps.filter(pl.col("cause") == "launch")
        .with_columns(until=pl.col("start_ns") + pl.col("dur_ns"))
        .join(begun, on=["device", "until"], how="left")
        .sort("dur_ns", "start_ns", descending=[True, False])
        .select("step", "device", "start_ns", "dur_ns", "launch_ns", "op_id")
    )
