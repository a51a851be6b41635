"""Every column is documented, and every producer returns exactly the columns it documents, on a real trace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from analyze import diagnose, engine, ingest, schema
from analyze.errors import MissingData

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.findings.model import Report
    from analyze.ingest import Trace

ROOT = Path(__file__).parent.parent
#: real recordings, small ones first: one of ours, else one of those beside the checkout
RECORDINGS = (
    *sorted(path.parent for path in (ROOT / "sample_traces").glob("*/manifest.0.json")),
    ROOT.parent / "shared/planted/traces/pageable_h2d.bad.pt.trace.json.gz",
    ROOT.parent / "shared/planted/traces/sync_item.bad.pt.trace.json.gz",
)
#: a unit by the ending of a column's name
UNITS = {"_ns": "ns", "_bytes": "bytes", "_percent": "%", "_bytes_per_s": "bytes/s", "_mhz": "MHz", "_w": "W", "_ms": "ms"}
TABLES = {**schema.FAMILIES, **engine.table_names(), "data_quality": schema.DATA_QUALITY}


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_type_and_a_meaning(name: str) -> None:
    for column in TABLES[name]:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", column.name), column
        assert isinstance(column.dtype, (pl.DataType, type)), column
        assert column.meaning.strip() == column.meaning != "", column
        assert not column.meaning.endswith("."), column


@pytest.mark.parametrize("name", TABLES)
def test_no_column_is_there_twice(name: str) -> None:
    names = [column.name for column in TABLES[name]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", TABLES)
def test_a_unit_in_the_name_is_the_unit(name: str) -> None:
    for column in TABLES[name]:
        endings = [ending for ending in UNITS if column.name.endswith(ending)]
        if endings:
            assert column.unit == UNITS[max(endings, key=len)], column


@pytest.mark.parametrize("name", TABLES)
def test_times_of_events_are_whole_nanoseconds(name: str) -> None:
    wrong = [column for column in TABLES[name] if column.name in {"start_ns", "dur_ns", "time_ns"} and column.dtype != pl.Int64]
    assert wrong == []


def test_an_empty_frame_has_the_columns_and_types() -> None:
    frame = schema.empty(schema.TABLES["steps"])
    assert frame.schema == {
        "step": pl.Int64,
        "start_ns": pl.Int64,
        "dur_ns": pl.Int64,
        "cycle": pl.Int64,
        "inferred": pl.Boolean,
    }


@pytest.fixture(scope="module", params=RECORDINGS, ids=lambda path: path.name.split(".pt.")[0])
def path(request: pytest.FixtureRequest) -> Path:
    if not request.param.exists():
        pytest.skip(f"{request.param.name} is not beside this checkout")
    return request.param


@pytest.fixture(scope="module")
def report(path: Path) -> Report:
    return diagnose(str(path), cache=False)


@pytest.fixture(scope="module")
def trace(path: Path) -> Iterator[Trace]:
    recording = ingest.read([str(path)], cache=False)
    yield recording.traces[0]
    # the temporary files behind the frames go with the recording
    del recording


@pytest.mark.parametrize("name", sorted(engine.table_names()))
def test_what_is_produced_is_what_is_documented(report: Report, name: str) -> None:
    try:
        frame = report.table(name)
    except MissingData as missing:
        pytest.skip(str(missing))
    assert dict(frame.schema) == {column.name: column.dtype for column in engine.table_columns(name)}


def test_no_detector_fails_through_a_fault_of_its_own(report: Report) -> None:
    assert [(identity, reason) for identity, reason in report.skipped if reason.startswith(engine.FAULT)] == []


@pytest.mark.parametrize("name", sorted(schema.FAMILIES))
def test_what_ingest_hands_over_is_what_is_documented(trace: Trace, name: str) -> None:
    assert dict(trace.frames[name].collect_schema()) == {column.name: column.dtype for column in schema.FAMILIES[name]}
