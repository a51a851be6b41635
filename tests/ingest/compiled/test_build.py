"""Building the compiled reader, and doing without it."""

from __future__ import annotations

import shutil

import pytest

from analyze.ingest import read
from analyze.ingest.compiled import build as building
from analyze.ingest.compiled.build import build, library_path


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    shutil.copy(building.SOURCE, tmp_path)
    monkeypatch.setattr(building, "FOLDER", tmp_path)
    monkeypatch.setattr(building, "SOURCE", tmp_path / building.SOURCE.name)
    return tmp_path


def test_a_changed_source_is_another_library(elsewhere):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    first = build()
    assert first is not None
    assert first == library_path()
    with building.SOURCE.open("a") as source:
        source.write("\n/* changed */\n")
    second = build()
    assert second not in (None, first)
    assert [path.name for path in elsewhere.glob("*.so")] == [second.name]


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_a_compiler_that_fails_costs_nothing(elsewhere, monkeypatch, compiler):
    monkeypatch.setenv("CC", compiler)
    assert build() is None
    assert not list(elsewhere.glob("_scan*"))


@pytest.mark.usefixtures("compiled")
def test_a_recorded_trace_is_read_alike(request):
    trace = building.FOLDER.parents[2] / "sample_traces" / "h200-no-workers" / "rank0.times.pt.trace.json.gz"
    with_it = read(trace, cache=False)
    request.getfixturevalue("pure_python")
    without = read(trace, cache=False)
    (one,), (other,) = with_it.traces, without.traces
    assert one.info == other.info
    assert one.data_quality.equals(other.data_quality)
    for family, frame in one.frames.items():
        assert frame.collect().equals(other.frames[family].collect()), family
