"""Reports built by hand: what a formatter is shown, without a trace behind it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData, UnknownName
from analyze.findings.model import (
    Detector,
    Finding,
    Outcome,
    RankSummary,
    Remedy,
    Report,
    StepTime,
    Summary,
)
from analyze.schema import DATA_QUALITY, empty
from analyze.trace_info import TraceInfo

if TYPE_CHECKING:
    from collections.abc import Callable

MS = 1_000_000
HOSTILE = "<img src=x onerror=alert(1)>[bold]\x1b[31m\u202e{{7*7}}`=cmd()"

PAGEABLE_COPY = Detector(
    id="pageable-copy",
    title="Copies from pageable memory hold up the step",
    meaning="The batch lies in ordinary memory, so the copy is slow and the host waits for it.",
    measured="The copies are replayed at the pinned rate, without waiting.",
    fix=(
        Remedy(text="Let the loader pin its batches", code="pin_memory=True"),
        Remedy(text="Do not wait for the copy", code='images = images.to("cuda", non_blocking=True)'),
    ),
    doc="https://docs.pytorch.org/docs/stable/data.html#memory-pinning",
)
LAUNCH_BOUND = Detector(
    id="launch-bound",
    title="The device waits for launches",
    meaning="Kernels are shorter than the host needs to launch them.",
    measured="The launches of a step are replayed as one.",
    fix=(Remedy(text="Capture the step in a CUDA graph", code='torch.compile(model, mode="reduce-overhead")'),),
    doc="https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs",
)
UNFUSED_OPTIMIZER = Detector(
    id="unfused-optimizer",
    title="The optimizer runs one kernel per parameter",
    meaning="Hundreds of tiny kernels where one would do.",
    measured="The optimizer's region is replayed as one fused launch.",
    fix=(Remedy(text="Use the fused optimizer", code="fused=True"),),
    doc="https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html",
)
POWER_CAP = Detector(
    id="power-cap",
    title="The device runs at its power limit",
    meaning="Clocks are held down by the power limit.",
    measured="Throttle reasons sampled beside the steps.",
    fix=(Remedy(text="Nothing to fix in the code"),),
    doc="https://docs.nvidia.com/deploy/nvml-api/",
)
THERMAL = replace(POWER_CAP, id="thermal-throttle", title="The device slows down because it is hot")

STEP = StepTime(
    median_ns=68.4 * MS,
    mean_ns=68.4 * MS,
    p10_ns=67.1 * MS,
    p90_ns=70.2 * MS,
    count=40,
    profiled=False,
    source="step log",
    profiled_mean_ns=74.6 * MS,
)
SUMMARY = Summary(
    label="resnet18",
    device="NVIDIA H200",
    device_count=1,
    versions={"python": "3.12.3", "torch": "2.14.0", "cuda": "13.0"},
    batch_size=64,
    rank=0,
    world_size=1,
    step_time=STEP,
    step_parts_ns={
        "compute": 14.24 * MS,
        "exposed_copy": 50.13 * MS,
        "idle_launch": 3.6 * MS,
        "unexplained": 0.43 * MS,
    },
    host_parts_ns={},
    device_busy_fraction=0.941,
    busy_without_collectives_fraction=0.941,
    samples_per_s=935.67,
    replay_error_fraction=0.012,
    after_all_fixes_ns=14.9 * MS,
    floor_ns=14.24 * MS,
)
COPY_FINDING = Finding(
    detector="pageable-copy",
    message="8 copies of 38.5 MB from pageable memory take 50.1 ms of each step at 6.1 GB/s.",
    confidence=0.91,
    basis="replayed",
    step_saving_ns=48.2 * MS,
    step_saving_low_ns=46.0 * MS,
    step_saving_high_ns=50.1 * MS,
    location="train.py(31): to",
    evidence=pl.DataFrame(
        {
            "step": [11, 12, 13, 14],
            "dur_ns": [50_130_000, 50_125_001, 50_140_000, 50_128_000],
            "op": ["aten::copy_"] * 4,
            "bandwidth_gb_per_s": [6.1, 6.1, 6.0, None],
        }
    ),
    thresholds={"SMALLEST_SAVING_NS": 50_000},
)
LAUNCH_FINDING = Finding(
    detector="launch-bound",
    message="1,200 launches of 2.9 µs leave the device idle for 3.6 ms of each step.",
    confidence=0.62,
    basis="replayed",
    step_saving_ns=3.1 * MS,
    step_saving_low_ns=2.2 * MS,
    step_saving_high_ns=3.6 * MS,
    location="aten::convolution",
)
OPTIMIZER_FINDING = Finding(
    detector="unfused-optimizer",
    message="The optimizer launches 320 kernels.",
    confidence=0.35,
    basis="modelled",
    step_saving_ns=0.9 * MS,
    step_saving_low_ns=0.2 * MS,
    step_saving_high_ns=1.4 * MS,
    caveat="Results differ in the last bits.",
)
POWER_NOTE = Finding(
    detector="power-cap",
    kind="note",
    message="The card drew 699 of 700 W in 92% of samples.",
    confidence=0.8,
)
INFO = TraceInfo(producer="kineto-cuda", rank=0, has_memory=True, event_count=216_000)


def table_source(**tables: pl.DataFrame) -> Callable[[str], pl.DataFrame]:
    """A report's `table`: known names give frames, None says that the run lacks it."""

    def table(name: str) -> pl.DataFrame:
        if name == "copies":
            raise MissingData("the trace has no device work")
        if name not in tables:
            raise UnknownName(f"no table {name}")
        return tables[name]

    return table


def quality(*rows: tuple[str, int, str]) -> pl.DataFrame:
    """A data-quality frame of (cause, count, detail) rows of one file."""
    cells = [(cause, count, None, detail, "rank0.pt.trace.json.gz") for cause, count, detail in rows]
    return pl.DataFrame(cells, schema=empty(DATA_QUALITY).schema, orient="row")


def steps_of(*times_ms: float, profiled: bool = False) -> pl.DataFrame:
    """A `step_time` table."""
    steps = {"step": range(10, 10 + len(times_ms)), "step_ns": [round(ms * MS) for ms in times_ms]}
    return pl.DataFrame(steps).with_columns(profiled=pl.lit(profiled))


def gpu_report() -> Report:
    """Three savings, a note, a skipped check and a few damaged events."""
    return Report(
        source="runs/2026-12-01-resnet18",
        summary=SUMMARY,
        verdict="Copies from pageable memory take 50.1 of 68.4 ms of each step; the top fixes would make it 14.9 ms.",
        findings=(COPY_FINDING, LAUNCH_FINDING, OPTIMIZER_FINDING),
        notes=(POWER_NOTE,),
        outcomes=(
            Outcome(detector=LAUNCH_BOUND, state="found", findings=(LAUNCH_FINDING,)),
            Outcome(detector=PAGEABLE_COPY, state="found", findings=(COPY_FINDING,)),
            Outcome(detector=POWER_CAP, state="found", findings=(POWER_NOTE,)),
            Outcome(detector=THERMAL, state="skipped", reason="the run has no temperature"),
            Outcome(detector=UNFUSED_OPTIMIZER, state="found", findings=(OPTIMIZER_FINDING,)),
        ),
        data_quality=quality(("unended event", 2, "left out of sums")),
        ranks=(RankSummary(rank=0, name="rank0.pt.trace.json.gz", summary=SUMMARY),),
        set_aside=(),
        info=INFO,
        manifest=None,
        next_steps=("stepscope explain pageable-copy", "Record again after the fix and compare"),
        table=table_source(step_time=steps_of(67.9, 68.4, 68.9, 68.2, 68.6)),
    )


def clean_report() -> Report:
    """A run in which nothing is worth fixing."""
    parts = {"compute": 66.0 * MS, "idle_launch": 2.4 * MS}
    return replace(
        gpu_report(),
        summary=replace(SUMMARY, step_parts_ns=parts, after_all_fixes_ns=None),
        verdict="Nothing worth fixing: the device is busy for 96% of the step.",
        findings=(),
        notes=(),
        outcomes=tuple(Outcome(detector=one, state="clear") for one in (LAUNCH_BOUND, PAGEABLE_COPY, UNFUSED_OPTIMIZER)),
        data_quality=empty(DATA_QUALITY),
        info=replace(INFO, has_shapes=True, has_stacks=True),
        next_steps=(),
    )


def cpu_report() -> Report:
    """A CPU-only trace that somebody sent: no device, no manifest, no unprofiled steps."""
    step_time = replace(STEP, median_ns=1_204.0 * MS, mean_ns=1_210.4 * MS, p10_ns=1_190 * MS, p90_ns=1_240 * MS)
    step_time = replace(step_time, count=3, profiled=True, source="trace", profiled_mean_ns=None, inferred=True)
    summary = Summary(
        label="trace.json",
        device="CPU",
        device_count=0,
        versions={},
        batch_size=None,
        rank=None,
        world_size=None,
        step_time=step_time,
        step_parts_ns={},
        host_parts_ns={"forward": 400 * MS, "backward": 800 * MS, "optimizer": 10.4 * MS},
        device_busy_fraction=None,
        busy_without_collectives_fraction=None,
        samples_per_s=None,
        replay_error_fraction=None,
        after_all_fixes_ns=None,
        floor_ns=None,
    )
    missing = "the trace has no device work"
    return replace(
        gpu_report(),
        source="trace.json",
        summary=summary,
        verdict="Most of the step is the backward pass on the CPU.",
        findings=(),
        notes=(),
        outcomes=tuple(Outcome(detector=one, state="skipped", reason=missing) for one in (LAUNCH_BOUND, PAGEABLE_COPY)),
        data_quality=empty(DATA_QUALITY),
        ranks=(),
        info=TraceInfo(producer="kineto-cpu"),
        next_steps=("stepscope report trace.json --baseline-step-ms MS",),
    )


def ranks_report() -> Report:
    """Two ranks and a damaged third."""
    slow = replace(SUMMARY, rank=1, world_size=2)
    fast = replace(SUMMARY, world_size=2, device_busy_fraction=0.5)
    return replace(
        gpu_report(),
        summary=slow,
        ranks=(
            RankSummary(rank=0, name="rank0.json", summary=fast),
            RankSummary(rank=1, name="rank1.json", summary=slow),
        ),
        set_aside=(("rank2.json", "empty file"),),
    )


def hostile_report() -> Report:
    """Every text that comes from outside tries to be something else."""
    finding = replace(
        COPY_FINDING,
        message=HOSTILE,
        location=HOSTILE,
        evidence=pl.DataFrame({"step": [1], "op": [HOSTILE], "share": [float("nan")]}),
    )
    return replace(
        gpu_report(),
        source=HOSTILE,
        summary=replace(SUMMARY, label=HOSTILE, device=HOSTILE, versions={"torch": HOSTILE}, samples_per_s=float("inf")),
        verdict=HOSTILE,
        findings=(finding,),
        data_quality=quality((HOSTILE, 1, HOSTILE)),
        set_aside=((HOSTILE, HOSTILE),),
        ranks=(
            RankSummary(rank=0, name=HOSTILE, summary=SUMMARY),
            RankSummary(rank=None, name="b\nc", summary=SUMMARY),
        ),
        next_steps=(HOSTILE,),
    )


def stepless_report() -> Report:
    """A trace in which no steps could be found."""
    return replace(clean_report(), summary=replace(SUMMARY, step_time=None, step_parts_ns={}, samples_per_s=None))
