"""More busy threads and processes than cores: they take turns instead of working."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.errors import MissingData
from analyze.findings.model import Detector, Finding, Remedy
from analyze.findings.saving import modelled
from analyze.scalars import number

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
        "during the steps. Saving: modelled. On a full processor, threads beyond the cores are taken to cost their share of the "
        "step; where a process has more compute threads than cores and cores idle all the same, at most what the same work "
        "takes on all of them."
    ),
    fix=(
        Remedy(text="Give each process its share of the cores", code="torch.set_num_threads(cores // local_ranks)"),
        Remedy(text="Same for OpenMP and MKL, before Python starts", code="OMP_NUM_THREADS=4 python train.py"),
        Remedy(text="Use fewer loader workers: cores less compute threads", code="DataLoader(..., num_workers=2)"),
    ),
    doc="https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#utilize-openmp",
)

#: a processor loaded this much is full
MIN_LOAD_PERCENT = 85.0
#: threads and workers per core above which they get in each other's way
MAX_THREADS_PER_CORE = 1.25
#: a process that keeps fewer cores busy runs few operators in parallel, whatever the number of its threads
MIN_BUSY_CORES = 2.0
#: share of the surplus that comes back, low, usual and high: waiting threads also spin
LOW_SHARE, USUAL_SHARE, HIGH_SHARE = 0.2, 0.6, 1.5
#: share of the idle cores' time that comes back: the trace does not say whether they idle in between, while operators that
#: are not parallel run, or because threads take turns at the others: anything from none to all, and the middle of it
USUAL_IDLE_SHARE = 0.5
#: the step never shrinks by more than this
MAX_STEP_SHARE = 0.9


def detect(
    manifest: Mapping[str, Any], telemetry: pl.DataFrame, step_time: pl.DataFrame, kernels: pl.DataFrame | None = None
) -> list[Finding]:
    """One finding where more threads run than there are cores; on runs with a device only a note."""
    host = manifest.get("host") or {}
    cores = host.get("cores_usable") or host.get("cores")
    threads = manifest.get("threads")
    if not cores or not threads:
        raise MissingData("the manifest does not say how many compute threads and cores there are")
    workers = int(manifest.get("workers") or 0)
    ranks = int(manifest.get("local_world_size") or 1)
    steps = step_time.filter(~pl.col("profiled"))
    steps = step_time if steps.is_empty() else steps
    sampled = _sampled(telemetry, steps)
    if "cpu_percent" not in sampled:
        raise MissingData("no processor load was sampled during the steps")
    # a worker that waits for its turn takes no core: what they used counts, where it was sampled
    used_percent = sampled.get("process_children_cpu_percent")
    wanted = ranks * (int(threads) + (workers if used_percent is None else min(workers, used_percent / 100)))
    process_cores = sampled.get("process_cpu_percent", 0.0) / 100
    own_cores = process_cores + (used_percent or 0.0) / 100
    # in a container the processor's load is of all cores, its own use of those it may use
    load_percent = min(max(sampled["cpu_percent"], 100 * own_cores * ranks / cores), 100.0)
    shares = _shares(wanted, ranks * int(threads), int(cores), load_percent, process_cores)
    if shares is None:
        return []
    what = f"{ranks} x ({threads} compute threads + {workers} workers) share {cores} cores, which are {load_percent:.0f} % busy"
    evidence = pl.DataFrame({"threads": [int(threads)], "workers": [workers], "local_ranks": [ranks], "cores": [int(cores)]})
    if kernels is not None:
        return [Finding(detector=DETECTOR.id, kind="note", message=f"{what}.", confidence=0.5, evidence=evidence)]
    step_ns = number(steps["step_ns"].mean())
    low, usual, high = shares
    return modelled(
        DETECTOR.id,
        step_ns,
        saving_ns=step_ns * usual,
        low_ns=step_ns * low,
        high_ns=step_ns * min(high, MAX_STEP_SHARE),
        message=f"{what}; as many threads as cores would give back about {{saving}}.",
        evidence=evidence,
        thresholds={
            "min_load_percent": MIN_LOAD_PERCENT,
            "max_threads_per_core": MAX_THREADS_PER_CORE,
            "min_busy_cores": MIN_BUSY_CORES,
        },
    )


def _sampled(telemetry: pl.DataFrame, steps: pl.DataFrame) -> dict[str, float]:
    """Means of the host's metrics while the steps ran, by name."""
    start, end = steps["start_ns"].min(), (steps["start_ns"] + steps["step_ns"]).max()
    inside = telemetry.filter(pl.col("time_ns").is_between(pl.lit(start), pl.lit(end)), pl.col("value").is_not_null())
    return dict(inside.group_by(pl.col("metric").cast(pl.String)).agg(pl.col("value").mean()).iter_rows())


def _shares(
    wanted: float, threads: int, cores: int, load_percent: float, process_cores: float
) -> tuple[float, float, float] | None:
    """Shares of the step that come back: low, usual, high; None where nothing is in the way of anything.

    A full processor is shared by all that want it. One with idle cores still has too many compute threads where they alone are
    more than the cores: every parallel operator is cut into as many pieces as there are threads, some wait for a core while
    the others wait for them, asleep. The work that was done, on all cores all the time, bounds what can come back.
    """
    if wanted > MAX_THREADS_PER_CORE * cores and load_percent >= MIN_LOAD_PERCENT:
        surplus = 1.0 - cores / wanted
        return surplus * LOW_SHARE, surplus * USUAL_SHARE, surplus * HIGH_SHARE
    if threads > MAX_THREADS_PER_CORE * cores and process_cores >= MIN_BUSY_CORES:
        idle = max(1.0 - load_percent / 100, 0.0)
        return 0.0, idle * USUAL_IDLE_SHARE, idle
    return None
