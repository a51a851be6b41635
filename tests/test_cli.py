from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import analyze
import analyze.engine
from analyze import cli, commands, options, terminal
from analyze.errors import GateFailed, GateUndecided, InputError, MissingData, NotComparable, TraceFormatError
from analyze.schema import Column
from tests import reports
from tests.reports import LAUNCH_BOUND, PAGEABLE_COPY, steps_of, table_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.findings.model import Report

ROOT = Path(__file__).parent.parent
STEADY = (68.0, 68.2, 68.4, 68.1, 68.3)


@pytest.fixture
def diagnosed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every path gives the same report; calls are recorded."""
    calls: list[tuple[tuple[str, ...], dict[str, Any]]] = []

    def diagnose(*paths: str, **options: Any) -> Report:
        calls.append((paths, options))
        return reports.gpu_report()

    monkeypatch.setattr(analyze, "diagnose", diagnose)
    return calls


def answering(monkeypatch: pytest.MonkeyPatch, answer: Callable[[str], Report]) -> None:
    monkeypatch.setattr(analyze, "diagnose", lambda path, **_: answer(path))


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def diagnose(*_: str, **__: Any) -> Report:
        raise error

    monkeypatch.setattr(analyze, "diagnose", diagnose)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line on standard error; nothing may be on standard output."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("stepscope: ")
    assert err.count("\n") == 1
    return err[len("stepscope: ") : -1]


def test_report_prints_the_answer(diagnosed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "run"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "resnet18 · NVIDIA H200 · torch 2.14.0 · cuda 13.0 · batch 64 · rank 0 of 1"
    assert err == ""


def test_report_passes_its_options_on(diagnosed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "report",
        "a.json",
        "b.json",
        "--baseline-step-ms",
        "68.4",
        "--rank",
        "3",
        "--no-cache",
        "--dask",
        "tcp://host:8786",
    ]
    assert cli.main(arguments) == 0
    assert diagnosed == [
        (
            ("a.json", "b.json"),
            {"baseline_step_ms": 68.4, "rank": 3, "progress": None, "limits": None, "cache": False, "dask": "tcp://host:8786"},
        )
    ]


def test_a_limit_can_be_raised_by_its_name(diagnosed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "a.json", "--limit", "json_bytes=32e9", "--limit", "members=5"]) == 0
    limits = diagnosed[0][1]["limits"]
    assert (limits.json_bytes, limits.members, limits.expansion) == (32_000_000_000, 5, 200)


def test_report_json_is_one_document(diagnosed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


@pytest.mark.parametrize(("option", "name", "begins"), [("--html", "r.html", "<!doctype html>"), ("--perfetto", "p.json", "{")])
def test_report_writes_a_file_and_no_other_file_over_it(
    diagnosed: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, name: str, begins: str
) -> None:
    file = tmp_path / name
    assert cli.main(["report", "run", option, str(file)]) == 0
    assert file.read_text(encoding="utf-8").startswith(begins)
    assert capsys.readouterr().out == f"wrote {file}\n"
    file.write_text("mine", encoding="utf-8")
    assert cli.main(["report", "run", option, str(file)]) == 2
    assert one_line(capsys) == f"{file} exists; add --force to write over it"
    assert file.read_text(encoding="utf-8") == "mine"
    assert cli.main(["report", "run", option, str(file), "--force"]) == 0
    assert file.read_text(encoding="utf-8").startswith(begins)


def test_options_may_stand_between_paths(diagnosed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "a.json", "--json", "b.json", "--", "-c.json"]) == 0
    assert diagnosed[0][0] == ("a.json", "b.json", "-c.json")


def test_a_missing_folder_is_noticed_before_the_work(diagnosed: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "run", "--html", str(tmp_path / "no" / "r.html")]) == 2
    assert "there is no folder" in one_line(capsys)
    assert diagnosed == []


def test_without_a_path_the_run_written_last_is_reported(
    diagnosed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for age, name in ((30, "a-older"), (10, "b-newest"), (20, "c-old")):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "manifest.0.json").write_text("{}", encoding="utf-8")
        os.utime(folder / "manifest.0.json", (1_000 - age, 1_000 - age))
    (tmp_path / "runs" / "z-not-a-run").mkdir()
    assert cli.main(["report"]) == 0
    assert diagnosed[0][0] == (str(Path("runs") / "b-newest"),)


def test_without_a_path_and_without_runs_it_says_what_to_do(
    diagnosed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report"]) == 2
    assert one_line(capsys) == "no PATH given and no run under ./runs: record one with `stepscope collect`, or give a trace"


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (InputError("no such file: x"), 2, "no such file: x"),
        (TraceFormatError("a\nb\x1b[31m"), 2, "a b\\x1b[31m"),
        (MissingData("the run has no steps"), 2, "the run has no steps"),
        (GateFailed("slower"), 1, "slower"),
        (GateUndecided("noisy"), 3, "noisy"),
        (NotComparable("different"), 4, "different"),
        (FileNotFoundError(2, "No such file or directory", "x.json"), 2, "x.json: No such file or directory"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_goes_wrong_is_one_line_and_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, status: int, text: str
) -> None:
    failing(monkeypatch, error)
    assert cli.main(["report", "x"]) == status
    assert one_line(capsys) == text


def test_an_unexpected_error_is_one_line_too_and_its_place_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, KeyError("steps"))
    monkeypatch.delenv(cli.TRACEBACK_VARIABLE, raising=False)
    assert cli.main(["report", "x"]) == 2
    assert one_line(capsys).startswith("unexpected KeyError: 'steps' (set STEPSCOPE_TRACEBACK=1")
    monkeypatch.setenv(cli.TRACEBACK_VARIABLE, "1")
    assert cli.main(["report", "x"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["report", "--frobnicate"], "unrecognized arguments: --frobnicate; see stepscope report --help"),
        (["report", "--rank", "one"], "argument --rank: expected a whole number, not one; see stepscope report --help"),
        (["report", "--rank", "-1"], "argument --rank: expected"),
        (["report", "--baseline-step-ms", "nan"], "expected milliseconds above 0, not nan; see stepscope report --help"),
        (["report", "--baseline-step-ms", "0"], "expected milliseconds above 0, not 0"),
        (["report", "--baseline-step-ms", "much"], "expected milliseconds above 0, not much"),
        (["report", "x", "--json", "--html", "r.html"], "argument --html: not allowed with argument --json"),
        (["report", "x", "--js"], "unrecognized arguments: --js"),
        (["compare", "a"], "the following arguments are required: NEW; see stepscope compare --help"),
        (["frobnicate"], f"no command frobnicate; there are {', '.join(options.COMMANDS)}"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate; see stepscope --help"),
        (["compare", "a", "b", "--max-regression", "much"], "expected a share such as 5% or 0.05, not much"),
        (["compare", "a", "b", "--max-regression", "nan"], "expected a share such as 5% or 0.05, not nan"),
        (["compare", "a", "b", "--max-regression=-5%"], "expected a share such as 5% or 0.05, not -5%"),
        (["compare", "a", "b", "--metric", "loss"], "no metric loss; there are step_time"),
        (["report", "x", "--limit", "bytes=5"], "--limit bytes: there are json_bytes, expansion, members, nesting"),
        (["report", "x", "--limit", "members"], "expected a name and a number such as json_bytes=32e9, not members"),
        (["report", "x", "--limit", "members=-1"], "not members=-1"),
        (["app", "--port", "65536"], "expected a port from 1 to 65535, not 65536"),
    ],
)
def test_unusable_arguments_are_one_line_and_status_2(
    diagnosed: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert cli.main(arguments) == 2
    assert text in one_line(capsys)


def test_every_command_has_its_grammar_and_its_function() -> None:
    assert {"report", "compare", "export", "crosscheck", "explain", "detectors", "app"} <= set(options.COMMANDS)
    for name in options.COMMANDS.keys() - {"collect"}:
        assert callable(getattr(commands, name))
        with pytest.raises(SystemExit):
            options.parse([name, "--help"])


def test_help_lists_the_commands_and_so_does_no_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  ")][: len(options.COMMANDS)] == list(
        options.COMMANDS
    )
    assert cli.main([]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.parametrize("command", [command for command in options.COMMANDS if command != "collect"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: stepscope {command}")
    assert callable(getattr(commands, command))


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("stepscope ")


def pair(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    def answer(path: str) -> Report:
        times = STEADY if path == "base" else tuple(time * factor for time in STEADY)
        return replace(reports.gpu_report(), source=path, table=table_source(step_time=steps_of(*times)))

    answering(monkeypatch, answer)


@pytest.mark.parametrize(("factor", "status", "decision"), [(1.0, 0, "passed"), (1.2, 1, "failed"), (1.05, 3, "undecided")])
def test_compare_gates_by_its_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], factor: float, status: int, decision: str
) -> None:
    pair(monkeypatch, factor)
    assert cli.main(["compare", "base", "new", "--max-regression", "5%", "--json"]) == status
    out, err = capsys.readouterr()
    assert json.loads(out)["decision"] == decision
    assert (err == "") == (status == 0)


def test_compare_without_a_gate_only_shows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pair(monkeypatch, 1.2)
    assert cli.main(["compare", "base", "new"]) == 0
    assert "step_time  68.2 → 81.8 ms, +20.0%" in capsys.readouterr().out


def test_compare_refuses_what_differs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answering(monkeypatch, lambda path: reports.gpu_report() if path == "base" else reports.cpu_report())
    assert cli.main(["compare", "base", "new", "--max-regression", "0.05"]) == 4
    assert one_line(capsys).startswith("the runs differ in device (NVIDIA H200 against CPU)")


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (Column("name", pl.String, "", "kernel name"), Column("dur_ns", pl.Int64, "ns", "duration"))
    monkeypatch.setattr(analyze.engine, "table_names", lambda: {"copies": columns, "kernels": columns})
    frame = pl.DataFrame({"name": ["=cmd()", "gemm, big"], "dur_ns": [-5, None]})
    answering(monkeypatch, lambda _: replace(reports.gpu_report(), table=table_source(kernels=frame)))


CSV = 'name,dur_ns\n\'=cmd(),-5\n"gemm, big",\n'


def test_export_prints_csv(tables: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "run", "--table", "kernels"]) == 0
    assert capsys.readouterr().out == CSV


def test_export_writes_csv_and_parquet(tables: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "run", "--table", "kernels", "--to", str(tmp_path / "k.csv")]) == 0
    assert (tmp_path / "k.csv").read_text(encoding="utf-8") == CSV
    assert cli.main(["export", "run", "--table", "kernels", "--to", str(tmp_path / "k.parquet")]) == 0
    assert pl.read_parquet(tmp_path / "k.parquet")["name"].to_list() == ["=cmd()", "gemm, big"]


def test_export_list_names_columns_with_their_units(tables: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "--list", "--table", "kernels"]) == 0
    assert capsys.readouterr().out == "kernels\n   name    String: kernel name\n   dur_ns  Int64 [ns]: duration\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--table", "kernel"], "no table or analysis kernel, did you mean kernels?; see stepscope export --list"),
        ([], "which table? give --table NAME; stepscope export --list names them"),
        (["--table", "kernels", "--to", "k.xlsx"], "k.xlsx: the name must end in .parquet or .csv"),
        (["--table", "copies"], "the trace has no device work"),
    ],
)
def test_export_says_what_it_cannot_do(tables: None, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str) -> None:
    assert cli.main(["export", "run", *arguments]) == 2
    assert one_line(capsys) == text


@pytest.fixture
def known_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyze, "catalogue", lambda: (LAUNCH_BOUND, PAGEABLE_COPY))
    monkeypatch.setattr(analyze, "examples", dict)


def test_detectors_lists_ids_and_titles(known_detectors: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["detectors"]) == 0
    assert capsys.readouterr().out == (
        "launch-bound   The device waits for launches\npageable-copy  Copies from pageable memory hold up the step\n"
    )


def test_explain_prints_all_a_detector_says(known_detectors: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "pageable-copy"]) == 0
    assert (
        capsys.readouterr().out
        == """\
pageable-copy  Copies from pageable memory hold up the step

What it means
   The batch lies in ordinary memory, so the copy is slow and the host waits for
   it.

What is measured
   The copies are replayed at the pinned rate, without waiting.

What to do, cheapest first
   1. Let the loader pin its batches
          pin_memory=True
   2. Do not wait for the copy
          images = images.to("cuda", non_blocking=True)

An example
   None of the sample runs shows it.

Read more
   https://docs.pytorch.org/docs/stable/data.html#memory-pinning
"""
    )


def test_explain_offers_close_ids(known_detectors: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "pagable-copy"]) == 2
    assert one_line(capsys) == "no detector pagable-copy, did you mean pageable-copy?; see stepscope detectors"
    assert cli.main(["explain", "zzz"]) == 2
    assert one_line(capsys) == "no detector zzz; see stepscope detectors"


@pytest.mark.parametrize("arguments", [["--device", "cpu", "--", "script.py", "--help", "--", "x"], ["--help"], []])
def test_collect_hands_every_argument_to_the_recorder(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    seen: list[list[str]] = []
    recorder = types.ModuleType("collect.cli")
    recorder.main = lambda argv: seen.append(argv) or 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "collect.cli", recorder)
    assert cli.main(["collect", *arguments]) == 7
    assert seen == [arguments]


def test_app_starts_streamlit_for_this_machine_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "app.py").touch()
    (tmp_path / "views").mkdir()
    (tmp_path / "analyze").mkdir()
    monkeypatch.setattr(commands, "__file__", str(tmp_path / "analyze" / "commands.py"))
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", lambda command: started.append(command) or 0)
    assert cli.main(["app", "--port", "8600"]) == 0
    assert started == [
        [sys.executable, "-m", "streamlit", "run", str(tmp_path / "app.py"), "--server.address", "localhost", "--server.port", "8600"]
    ]  # fmt: skip
    installed = tmp_path / "stepscope_app"
    (installed / "views").mkdir(parents=True)
    (installed / "app.py").touch()
    assert cli.main(["app"]) == 0
    assert started[1][4] == str(installed / "app.py")


def test_app_without_its_files_or_without_streamlit_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "__file__", str(tmp_path / "analyze" / "commands.py"))
    assert cli.main(["app"]) == 2
    assert "app.py is not installed" in one_line(capsys)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert cli.main(["app"]) == 2
    assert one_line(capsys) == "the app needs streamlit: pip install 'stepscope[app]'"


class Screen(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_and_names_stay_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", screen)
    terminal.say_lines([(("1 [bold]x[/bold] :smile: ", "red"), ("plain", ""))])
    assert screen.getvalue() == "\x1b[31m1 [bold]x[/bold] :smile: \x1b[0mplain\n"
    monkeypatch.setenv("NO_COLOR", "1")
    terminal.say_lines([(("2", "red"),)])
    assert screen.getvalue().endswith("2\n")


def test_output_is_as_wide_as_the_terminal_within_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.width() == 80
    monkeypatch.setattr(sys, "stdout", Screen())
    for columns, expected in (("20", 60), ("90", 90), ("300", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        assert terminal.width() == expected


def test_progress_is_drawn_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal.progress() as callback:
        assert callback is None
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", screen)
    with terminal.progress() as callback:
        assert callback is not None
        callback(types.SimpleNamespace(file="/data/[red]\x1b]0;x.json", bytes_done=5, bytes_total=10))  # type: ignore[arg-type]
    assert "[red]\\x1b]0;x.json" in screen.getvalue()


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analyze", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, **options)


def test_the_module_form_reports_unusable_arguments() -> None:
    done = run("report", "--frobnicate")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("stepscope: unrecognized arguments: --frobnicate")
    assert done.stderr.count("\n") == 1


def test_a_file_that_does_not_exist_is_one_line_and_status_2(tmp_path: Path) -> None:
    done = run("report", str(tmp_path / "absent.json"), env=os.environ | {"STEPSCOPE_CACHE_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (2, "")
    assert "absent.json" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_closed_pipe_ends_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "analyze", "--version"]
    done = subprocess.run(command, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_without_unicode_gets_escapes_instead_of_an_error() -> None:
    program = "from analyze import cli, terminal; terminal.survive_any_character(); terminal.say('68.4 \\u2013 \\xb5s \\ud800')"
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True, env=environment)
    assert done.stdout == "68.4 \\u2013 \\xb5s \\ud800\n"


def test_help_needs_neither_polars_nor_rich() -> None:
    program = (
        "import sys; from analyze import cli; cli.main(['report', '--help']);"
        "print([name for name in ('polars', 'rich', 'jinja2', 'typer', 'torch', 'collect') if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "[]\n"
