"""All processors of the host are busy: the training process waits for its turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyze.findings.model import Detector, Finding, Remedy, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

DETECTOR = Detector(
    id="cpu-saturated",
    title="The host's processors are all busy",
    meaning=(
        "Launching threads, data workers and everything else on the host share processors that have no time left, so "
        "each of them is slower than it need be. More data workers would not help."
    ),
    measured=(
        "Mean use of all processors within unprofiled steps, or of those that the container may use. Where the "
        "training itself runs on the CPU, busy processors are what one wants: then only what other programs take is "
        "reported."
    ),
    fix=(
        Remedy(text="See who uses them: programs that are not part of the training can go elsewhere", code="$ top -o %CPU"),
        Remedy(
            text="Keep each data worker to one thread and have no more workers than processors",
            code="loader = DataLoader(dataset, num_workers=cores - 2, worker_init_fn=lambda _: torch.set_num_threads(1))",
        ),
        Remedy(text="Do less on the CPU: decode to the size that is needed, move augmentation to the GPU"),
    ),
    doc="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
)

#: above this, threads that want to run queue for a processor
MIN_CPU_PERCENT = 90.0
#: other programs that take less than this do not explain a slow step
MIN_OTHERS_SHARE = 0.15


def detect(host_state: pl.DataFrame, manifest: dict[str, Any] | None = None) -> list[Finding]:
    """One note for the host of this run, where its processors or the container's share of them are used up."""
    host = (manifest or {}).get("host") or {}
    notes = [_note(row, host_state[position], manifest or {}, host) for position, row in enumerate(host_state.to_dicts())]
    return [note for note in notes if note is not None]


def _note(row: Mapping[str, Any], evidence: pl.DataFrame, manifest: Mapping[str, Any], host: Mapping[str, Any]) -> Finding | None:
    cores = row["core_count"] or host.get("cores")
    if row["cpu_percent"] is None or not cores:
        return None
    # the manifest describes this rank's host; another host's container is not known
    usable = (host.get("cores_usable") or cores) if host.get("name") in (None, row["host"]) else cores
    own = _own_cores(row)
    busy = row["cpu_percent"] / 100 * cores
    others = None if own is None else max(busy - own, 0.0)
    all_busy = row["cpu_percent"] >= MIN_CPU_PERCENT
    share_used_up = own is not None and own >= MIN_CPU_PERCENT / 100 * usable
    if not all_busy and not share_used_up:
        return None
    if manifest.get("device") == "cpu" and (not all_busy or (others or 0.0) < MIN_OTHERS_SHARE * cores):
        return None
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=_message(row["host"], busy, cores, own, others, usable, all_busy=all_busy),
        confidence=0.8,
        severity=Severity.MEDIUM,
        location=row["host"],
        evidence=evidence,
        thresholds={"min_cpu_percent": MIN_CPU_PERCENT, "min_others_share": MIN_OTHERS_SHARE},
    )


def _own_cores(row: Mapping[str, Any]) -> float | None:
    """Processors' worth of time that the training process and its children take; None where they were not watched."""
    if row["process_cpu_percent"] is None:
        return None
    return float(row["process_cpu_percent"] + (row["process_children_cpu_percent"] or 0.0)) / 100


def _message(host: str, busy: float, cores: int, own: float | None, others: float | None, usable: int, *, all_busy: bool) -> str:
    if not all_busy:
        return f"The training takes {own:.1f} of the {usable} processors that it may use on {host}; none is left."
    split = "" if own is None else f": {own:.1f} by the training and its workers, {others:.1f} by other programs"
    return f"{busy:.1f} of {cores} processors of {host} are busy{split}."
