"""Every public trace, against counts made with `json` alone (write_public_table.py)."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from analyze.errors import TraceFormatError
from analyze.ingest import read

HERE = Path(__file__).resolve().parent
TRACES = HERE.parents[2] / "shared" / "traces" / "public"
FAMILY = {
    "device_work": "device_events",
    "host_calls": "runtime_events",
    "operators": "op_events",
    "python": "python_events",
    "memory": "memory_events",
    "flows": "flow_events",
}

with (HERE / "public_traces.tsv").open(encoding="utf-8") as table:
    EXPECTED = list(csv.DictReader(table, delimiter="\t"))


def test_every_public_trace_is_in_the_table():
    if not TRACES.is_dir():
        pytest.skip("the public traces are not beside this checkout (../shared/traces/public)")
    with (TRACES / "INDEX.tsv").open(encoding="utf-8") as file:
        listed = {line.split("\t")[0] for line in file} - {"file"}
    assert {row["file"] for row in EXPECTED} == listed


@pytest.mark.parametrize(
    "expected", EXPECTED, ids=lambda row: "/".join(row["file"].split("/")[0::99] + row["file"].split("/")[-1:])
)
def test_a_public_trace_is_read_whole_or_refused_with_the_reason(expected):
    path = TRACES / expected["file"]
    if not path.is_file():
        pytest.skip("the public traces are not beside this checkout (../shared/traces/public)")
    if expected["quality"] == "refused":
        with pytest.raises(TraceFormatError, match="memory snapshot"):
            read(path, cache=False)
        return
    (trace,) = read(path, cache=False, processes=1).traces
    counts = {name: trace.frames[family].select(pl.len()).collect().item() for name, family in FAMILY.items()}
    found = {
        "kind": trace.info.producer,
        "rank": trace.rank,
        "events": trace.info.event_count,
        **counts,
        "apart": trace.frames["quarantine"].select(pl.len()).collect().item(),
        "quality": " ".join(f"{cause}={count}" for cause, count in trace.data_quality.select("cause", "count").rows()),
    }
    assert {name: "" if value is None else str(value) for name, value in found.items()} == {
        name: expected[name] for name in found
    }
