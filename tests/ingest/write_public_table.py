"""Counts the public traces with `json` and `Decimal` alone and writes what reading them must give.

    python tests/ingest/write_public_table.py    # rewrites public_traces.tsv

Nothing of stepscope is imported: the table is a second opinion, by the simplest code that can count.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from statistics import median_low

HERE = Path(__file__).resolve().parent
TRACES = HERE.parents[2] / "shared" / "traces" / "public"
TABLE = HERE / "public_traces.tsv"
FIELDS = (
    "file",
    "kind",
    "rank",
    "events",
    "device_work",
    "host_calls",
    "operators",
    "python",
    "memory",
    "flows",
    "apart",
    "quality",
)
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "mtia_ccp_events"}
CALLS = {"cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime", "glow_runtime", "hip_runtime"}
LAUNCH = re.compile("launch|memcpy|memset", re.IGNORECASE)
DAY_US = 86_400 * 10**6


def main() -> None:
    """Write the table."""
    with (TRACES / "INDEX.tsv").open(encoding="utf-8") as file:
        index = {row["file"]: row["family"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        for name, kind in sorted(index.items()):
            writer.writerow({"file": name, "kind": kind} | counted(TRACES / name))


def counted(path: Path) -> dict[str, object]:
    """What one file holds; nothing but a reason where it is no JSON."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    if raw[:1] not in b"[{ \n":
        return {"quality": "refused"}
    document = json.loads(raw, parse_float=Decimal)
    events = document if isinstance(document, list) else document["traceEvents"]
    header = {} if isinstance(document, list) else document
    rank = header.get("distributedInfo", {}).get("rank")
    named = re.search(r"(?:^|[^a-z])(?:rank|worker)[-_]?(\d+)", path.name)
    rank = rank if rank is not None else named[1] if named else ""
    apart, quality = implausible(events)
    good = [event for index, event in enumerate(events) if index not in apart]
    spans = [event for event in good if event["ph"] == "X"]
    device = [event for event in spans if event.get("cat") in DEVICE]
    calls = [event for event in spans if event.get("cat") in CALLS]
    quality += missing(device, calls)
    return {
        "rank": rank,
        "events": len(events),
        "device_work": len(device),
        "host_calls": len(calls),
        "operators": sum(event.get("cat") in ("cpu_op", "Operator") for event in spans),
        "python": sum(event.get("cat") == "python_function" for event in spans),
        "memory": sum(event["ph"] == "i" and event["name"] == "[memory]" for event in good),
        "flows": sum(event["ph"] in ("s", "t", "f") for event in events),
        "apart": len(apart),
        "quality": " ".join(f"{cause}={count}" for cause, count in sorted(quality.items())),
    }


def implausible(events: list[dict]) -> tuple[set[int], Counter[str]]:
    """Positions of events whose times cannot be true, and how many by cause."""
    typical = median_low([Decimal(event["ts"]) for event in events[:20_000] if event["ph"] in ("X", "B")] or [Decimal(0)])
    apart, quality = set(), Counter()
    for position, event in enumerate(events):
        if event["ph"] in ("M", "s", "t", "f"):
            continue
        start, duration = event.get("ts"), event.get("dur", 0)
        cause = None
        if start is None:
            cause = "missing-timestamp"
        elif abs(Decimal(start) - typical) > DAY_US:
            cause = "implausible-timestamp"
        elif Decimal(duration) == -1:
            quality["unfinished"] += 1
        elif Decimal(duration) < 0:
            cause = "negative-duration"
        elif Decimal(duration) > DAY_US:
            cause = "implausible-duration"
        if cause:
            quality[cause] += 1
            apart.add(position)
    return apart, quality


def missing(device: list[dict], calls: list[dict]) -> Counter[str]:
    """Links and device work that a reader would expect."""
    quality: Counter[str] = Counter()
    launches = sum(bool(LAUNCH.search(event["name"])) for event in calls)
    if launches and not device:
        quality["device-activity-missing"] = launches
    links = [int(event.get("args", {}).get("correlation") or 0) for event in device]
    quality["missing-correlation"] = sum(link <= 0 for link in links)
    keys = Counter((event["pid"], link) for event in calls if (link := int(event.get("args", {}).get("correlation") or 0)) > 0)
    quality["duplicate-correlation"] = sum(count - 1 for count in keys.values())
    return +quality


if __name__ == "__main__":
    main()
