"""The host runs out of memory: caches are thrown away, or pages go to disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyze.findings.model import Detector, Finding, Remedy, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

DETECTOR = Detector(
    id="host-memory-pressure",
    title="The host is short of memory",
    meaning=(
        "Little memory is left: the files of the data set no longer stay in the page cache and are read again every "
        "epoch, pages go to swap, and at the end the kernel kills a data worker or the training."
    ),
    measured=(
        "The lowest available memory within the steps (what the page cache could give up counts as available), the "
        "memory of the training and its workers against the container's limit, and swap that grew during the steps."
    ),
    fix=(
        Remedy(text="Fewer workers, fewer batches ahead", code="loader = DataLoader(dataset, num_workers=4, prefetch_factor=2)"),
        Remedy(
            text="Share the index of the data set instead of copying it into every worker: an array or a memory map, not a list",
            code='index = np.load("index.npy", mmap_mode="r")',
        ),
        Remedy(text="Give the container or the job more memory", code="docker run --memory 64g --shm-size 16g ..."),
    ),
    doc="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
)

#: below this share nothing is left for the page cache, and a burst ends the run
MIN_AVAILABLE_SHARE = 0.05
#: workers share pages with the training, so that their sum overstates: only near the limit is it a sign
MIN_LIMIT_SHARE = 0.95
#: swap that grows by less may be other programs put to sleep
MIN_SWAP_GROWTH_BYTES = 256 << 20


def detect(host_state: pl.DataFrame, manifest: dict[str, Any] | None = None) -> list[Finding]:
    """One note per host that is short of memory."""
    notes = [_note(row, host_state[position], manifest or {}) for position, row in enumerate(host_state.to_dicts())]
    return [note for note in notes if note is not None]


def _note(row: Mapping[str, Any], evidence: pl.DataFrame, manifest: Mapping[str, Any]) -> Finding | None:
    signs = [sign for sign in (_little_left(row), _swapping(row), _near_limit(row, manifest)) if sign is not None]
    if not signs:
        return None
    return Finding(
        detector=DETECTOR.id,
        kind="note",
        message=f"{row['host']} is short of memory: {' and '.join(signs)}.",
        confidence=0.8 if _near_limit(row, manifest) is None or len(signs) > 1 else 0.5,
        severity=Severity.HIGH if _swapping(row) else Severity.MEDIUM,
        location=row["host"],
        evidence=evidence.select(
            "host", "samples", "memory_available_bytes", "memory_total_bytes", "swap_growth_bytes", "process_rss_bytes"
        ),
        thresholds={"min_available_share": MIN_AVAILABLE_SHARE, "min_swap_growth_bytes": MIN_SWAP_GROWTH_BYTES},
    )


def _little_left(row: Mapping[str, Any]) -> str | None:
    left, total = row["memory_available_bytes"], row["memory_total_bytes"]
    if left is None or not total or left >= MIN_AVAILABLE_SHARE * total:
        return None
    return f"{left / 1e9:.1f} of {total / 1e9:.1f} GB were left"


def _swapping(row: Mapping[str, Any]) -> str | None:
    grown = row["swap_growth_bytes"]
    return None if grown is None or grown < MIN_SWAP_GROWTH_BYTES else f"{grown / 1e9:.1f} GB went to swap during the steps"


def _near_limit(row: Mapping[str, Any], manifest: Mapping[str, Any]) -> str | None:
    host = manifest.get("host") or {}
    limit, used = host.get("memory_limit_bytes"), row["process_rss_bytes"]
    if not limit or used is None or host.get("name") != row["host"] or used < MIN_LIMIT_SHARE * limit:
        return None
    return f"the training and its workers hold {used / 1e9:.1f} of the {limit / 1e9:.1f} GB that the container may use"
