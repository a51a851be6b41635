"""The process behind a page: its answers, its failures, and that it ends when nobody waits for it any more."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from analyze.errors import MissingData, StepscopeError
from analyze.report.table_rows import Page
from tests.app.traces import trace
from views.shell import diagnosis
from views.shell.diagnosis import Diagnosis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Start = Callable[..., Diagnosis]

NO_OPTIONS = {"baseline_step_ms": None, "rank": None}
PATIENCE_S = 60


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Diagnosis] = []

    def run(*paths: Path, **options: object) -> Diagnosis:
        started.append(Diagnosis(tuple(map(str, paths)), NO_OPTIONS | options))
        return started[-1]

    yield run
    for one in started:
        one.close()
        eventually(lambda one=one: one._process.poll() is not None)


def eventually(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def finished(one: Diagnosis) -> Diagnosis:
    eventually(lambda: one.state != "running")
    return one


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    file = tmp_path / "some.pt.trace.json.gz"
    file.write_bytes(trace())
    return file


def test_a_trace_becomes_a_report_whose_tables_can_be_asked_for(start: Start, trace_file: Path) -> None:
    one = finished(start(trace_file))
    assert (one.state, one.error) == ("done", "")
    assert [finding.detector for finding in one.report.findings] == ["pageable-copy"]
    assert one.report.table("kernels").height == 4
    count, rows = one.rows("copies", Page(offset=1, limit=2, sort_by="start_ns", descending=False))
    assert (count, rows["bytes"].to_list()) == (4, [66_000_000, 66_000_000])
    assert one.csv("copies").startswith("id,device,stream,name,")


def test_a_step_time_given_reaches_the_report(start: Start, trace_file: Path) -> None:
    time_given = finished(start(trace_file, baseline_step_ms=19.0)).report.summary.step_time
    assert time_given is not None
    assert (time_given.mean_ns, time_given.profiled) == (19e6, False)


def test_a_table_that_is_missing_is_no_end(start: Start, trace_file: Path) -> None:
    one = finished(start(trace_file))
    with pytest.raises(MissingData):
        one.report.table("telemetry")
    with pytest.raises(MissingData):
        one.report.table("no such table")
    assert one.report.table("kernels").height == 4


@pytest.mark.parametrize("content", [b"", b"no trace", b"{}", b"\x1f\x8b\x08broken", b"PK\x03\x04broken"])
def test_what_is_no_trace_fails_in_one_line_that_names_it(start: Start, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "some.json").write_bytes(content)
    one = finished(start(tmp_path / "some.json"))
    assert one.state == "failed"
    assert "some.json" in one.error
    assert "Traceback" not in one.error
    with pytest.raises(StepscopeError):
        _ = one.report


def test_a_process_that_dies_is_said_to_have_died(start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(diagnosis, "WORKER", script(tmp_path, "import os; os.kill(os.getpid(), 9)"))
    one = finished(start())
    assert one.state == "failed"
    assert "signal 9" in one.error


def test_a_process_that_talks_nonsense_is_ended(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diagnosis, "WORKER", script(tmp_path, "import sys, time; sys.stdout.write('x' * 99999); time.sleep(99)"))
    assert finished(start()).state == "failed"
    assert "UnpicklingError" in capsys.readouterr().err


def test_closing_ends_the_process_and_what_it_started_at_once(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    child = (
        "import subprocess, sys; print(subprocess.Popen(['sleep', '99']).pid, file=open(sys.argv[0] + '.child', 'w', 1)); input()"
    )
    worker = script(tmp_path, child)
    monkeypatch.setattr(diagnosis, "WORKER", worker)
    one = start()
    told = worker.with_name(worker.name + ".child")
    eventually(lambda: told.exists() and told.read_text().endswith("\n"))
    began = time.monotonic()
    one.close()
    eventually(lambda: is_gone(int(told.read_text())) and one._process.poll() is not None)
    assert time.monotonic() - began < 2
    assert one.state == "closed"


def test_the_last_session_to_leave_ends_it(start: Start, trace_file: Path) -> None:
    one = finished(start(trace_file))
    one.watch("a")
    one.watch("b")
    one.leave("a")
    assert one.state == "done"
    one.leave("b")
    assert one.state == "closed"
    eventually(lambda: one._process.poll() is not None)
    with pytest.raises(StepscopeError):
        one.rows("kernels", Page())


def test_the_worker_ends_with_the_server(tmp_path: Path) -> None:
    worker = subprocess.Popen([sys.executable, str(diagnosis.WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with worker:
        worker.stdin.close()
        worker.wait(timeout=PATIENCE_S)


def test_progress_is_told_in_bytes(start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(diagnosis, "WORKER", script(tmp_path, "input()"))
    one = start()
    one._take("progress", "/runs/rank0.json", 25_000_000, 100_000_000)
    assert (one.fraction, one.text) == (0.25, "reading rank0.json: 25 of 100 MB")
    one._take("progress", "/runs/rank0.json", 100_000_000, 100_000_000)
    assert one.text == "rank0.json: 100 MB read, working out where the time goes"
    one._take("progress", "s3://bucket/rank0.json", 1_000_000, None)
    assert one.fraction is None


def script(folder: Path, text: str) -> Path:
    file = folder / "worker.py"
    file.write_text(text)
    return file
