"""More busy threads and processes than cores: they take turns instead of working."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import modelled
from analyze.scalars import number, number_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping

DETECTOR = Detector(
    id="cpu-oversubscription",
    title="More threads and workers than cores",
    meaning=(
        "Compute threads, loader workers and the other ranks of the machine together are more than it has cores. They wait for "
        "each other at every parallel region, so everything on the host slows down, often by more than the share missing."
    ),
    measured=(
        "Compute threads per process (manifest), loader workers and local ranks against usable cores, and the processor's load "
        "during the steps. Saving: modelled; threads beyond the cores are taken to cost their share of the host-bound step."
    ),
    fix=(
        Remedy(text="Give each process its share of the cores", code="torch.set_num_threads(cores // local_ranks)"),
        Remedy(text="Same for OpenMP and MKL, before Python starts", code="OMP_NUM_THREADS=4 python train.py"),
        Remedy(text="Use fewer loader workers: cores less compute threads", code="DataLoader(..., num_workers=2)"),
    ),
    doc="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#utilize-openmp",
)

#: processors loaded less than this have room, whatever the number of threads
MIN_LOAD_PERCENT = 85.0
#: threads and workers per core above which they get in each other's way
MAX_THREADS_PER_CORE = 1.25
#: share of the surplus that comes back, low and high: waiting threads also spin
LOW_SHARE, HIGH_SHARE = 0.2, 1.5


def detect(
    manifest: Mapping[str, Any], telemetry: pl.DataFrame, step_time: pl.DataFrame, kernels: pl.DataFrame | None = None
) -> list[Finding]:
    """One finding where the processor is full and oversubscribed; on runs with a device only a note."""
    host = manifest.get("host") or {}
    cores = host.get("cores_usable") or host.get("cores")
    threads = manifest.get("threads")
    if not cores or not threads:
        raise MissingData("the manifest does not say how many compute threads and cores there are")
    workers = int(manifest.get("workers") or 0)
    ranks = int(manifest.get("local_world_size") or 1)
    steps = step_time.filter(~pl.col("profiled"))
    steps = step_time if steps.is_empty() else steps
    start, end = steps["start_ns"].min(), (steps["start_ns"] + steps["step_ns"]).max()
    inside = telemetry.filter(pl.col("time_ns").is_between(pl.lit(start), pl.lit(end)), pl.col("value").is_not_null())
    load_percent = number_or_none(inside.filter(pl.col("metric") == "cpu_percent")["value"].mean())
    if load_percent is None:
        raise MissingData("no processor load was sampled during the steps")
    # a worker that waits for its turn takes no core: what they used counts, where it was sampled
    used_percent = number_or_none(inside.filter(pl.col("metric") == "process_children_cpu_percent")["value"].mean())
    wanted = ranks * (int(threads) + (workers if used_percent is None else min(workers, used_percent / 100)))
    if wanted <= MAX_THREADS_PER_CORE * cores or load_percent < MIN_LOAD_PERCENT:
        return []
    what = f"{ranks} x ({threads} compute threads + {workers} workers) share {cores} cores, which are {load_percent:.0f} % busy"
    evidence = pl.DataFrame({"threads": [int(threads)], "workers": [workers], "local_ranks": [ranks], "cores": [int(cores)]})
    if kernels is not None:
        return [Finding(detector=DETECTOR.id, kind="note", message=f"{what}.", confidence=0.5, evidence=evidence)]
    step_ns = number(steps["step_ns"].mean())
    surplus = 1.0 - cores / wanted
    return modelled(
        DETECTOR.id,
        step_ns,
        saving_ns=step_ns * surplus * 0.6,
        low_ns=step_ns * surplus * LOW_SHARE,
        high_ns=min(step_ns * surplus * HIGH_SHARE, step_ns * 0.9),
        message=f"{what}; as many threads as cores would give back about {{saving}}.",
        evidence=evidence,
        thresholds={"min_load_percent": MIN_LOAD_PERCENT, "max_threads_per_core": MAX_THREADS_PER_CORE},
    )
