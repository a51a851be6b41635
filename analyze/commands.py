"""The commands: what each takes, which part of `analyze` it calls, what of `analyze.report` it shows."""

# ruff: noqa: PLC0415 - a command imports what it needs when it runs; the others' imports would cost it its start-up time
from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyze import terminal
from analyze.errors import InputError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analyze.findings.model import Report

#: where `collect` puts runs unless told otherwise
RUNS = Path("runs")

app = typer.Typer(
    name="stepscope",
    help="Says why a training step takes as long as it does, what each fix would give back, and how sure it is.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PATH]...", help="Run directory, trace, folder, archive or address; else the newest run."),
]
Rank = Annotated[int | None, typer.Option(help="Put this rank first.", min=0)]
Cache = Annotated[bool, typer.Option("--cache/--no-cache", help="Keep parsed traces, and use those kept.")]
Baseline = Annotated[
    float | None,
    typer.Option(metavar="MS", help="Step time without the profiler, where you measured it yourself."),
]
Force = Annotated[bool, typer.Option("--force", help="Write over an existing file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        terminal.say(f"stepscope {_version()}")
        raise typer.Exit


@app.command(name="collect", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def _collect() -> None:
    """Record a run: a built-in workload, or your own script after `--`."""


@app.command()
def report(
    paths: Paths = None,
    *,
    baseline_step_ms: Baseline = None,
    rank: Rank = None,
    json: AsJson = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one self-contained page.")] = None,
    perfetto: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a trace for ui.perfetto.dev.")] = None,
    force: Force = False,
    cache: Cache = True,
) -> None:
    """Say why a step takes as long as it does and what each fix would give back."""
    if sum((json, html is not None, perfetto is not None)) > 1:
        raise InputError("--json, --html and --perfetto exclude one another; give one of them")
    if baseline_step_ms is not None and not 0 < baseline_step_ms < float("inf"):
        raise InputError(f"--baseline-step-ms {baseline_step_ms}: expected milliseconds above 0")
    target = html or perfetto
    if target is not None:
        _must_be_free(target, force)
    found = _diagnose(paths, baseline_step_ms=baseline_step_ms, rank=rank, cache=cache)
    if json:
        from analyze.report import document

        terminal.say(document.render(found))
    elif html is not None:
        from analyze.report import html as page

        _write(html, page.render(found))
    elif perfetto is not None:
        from analyze.report import perfetto as timeline

        _write(perfetto, timeline.render(found))
    else:
        from analyze.report import text

        terminal.say_lines(text.lines(found, terminal.width()))


@app.command()
def compare(
    base: Annotated[str, typer.Argument(help="The run to compare with.")],
    new: Annotated[str, typer.Argument(help="The run that changed.")],
    *,
    max_regression: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Fail where NEW is slower by more than this: 5%.")
    ] = None,
    metric: Annotated[str, typer.Option(help="step_time (the mean), step_time_median or step_time_p90.")] = "step_time",
    json: AsJson = False,
    cache: Cache = True,
) -> None:
    """Compare two runs; with --max-regression fail (1), or say that the noise is too large (3)."""
    from analyze import comparison
    from analyze.report import comparison_text

    allowed = None if max_regression is None else _share(max_regression)
    before, after = _diagnose([base], cache=cache), _diagnose([new], cache=cache)
    result = comparison.compare(before, after, metric=metric, max_regression=allowed)
    if json:
        terminal.say(comparison_text.render(result))
    else:
        terminal.say_lines(comparison_text.lines(result, terminal.width()))
    result.gate()


@app.command()
def export(
    paths: Paths = None,
    *,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="Table or analysis.")] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help=".parquet or .csv; else CSV is printed.")] = None,
    names: Annotated[bool, typer.Option("--list", help="Name the tables, their columns and units.")] = False,
    rank: Rank = None,
    force: Force = False,
    cache: Cache = True,
) -> None:
    """Write a table or an analysis as Parquet or CSV."""
    from analyze.engine import table_names
    from analyze.report import catalogue_text, table_rows

    tables = table_names()
    if table is not None and table not in tables:
        raise UnknownName(f"no table or analysis {table}{_close(table, tables)}; see stepscope export --list")
    if names:
        chosen = tables if table is None else {table: tables[table]}
        terminal.say_lines(list(catalogue_text.table_list(chosen)))
        return
    if table is None:
        raise InputError("which table? give --table NAME; stepscope export --list names them")
    if to is not None:
        if to.suffix not in {".csv", ".parquet"}:
            raise InputError(f"{to}: the name must end in .parquet or .csv")
        _must_be_free(to, force)
    frame = _diagnose(paths, rank=rank, cache=cache).table(table)
    if to is None:
        terminal.say(table_rows.csv_text(frame))
    elif to.suffix == ".csv":
        _write(to, table_rows.csv_text(frame))
    else:
        frame.write_parquet(to)
        terminal.say(f"wrote {to}")


@app.command()
def explain(detector: Annotated[str, typer.Argument(metavar="ID", help="As named in a report.")]) -> None:
    """Print what a finding means, how it is measured and how to fix it."""
    from analyze import catalogue
    from analyze.report import catalogue_text

    by_id = {one.id: one for one in catalogue()}
    if detector not in by_id:
        raise UnknownName(f"no detector {detector}{_close(detector, by_id)}; see stepscope detectors")
    terminal.say_lines(list(catalogue_text.explanation(by_id[detector], terminal.width())))


@app.command()
def detectors() -> None:
    """List the detectors."""
    from analyze import catalogue
    from analyze.report import catalogue_text

    terminal.say_lines(catalogue_text.detector_list(catalogue()))


@app.command(name="app")
def browse(port: Annotated[int, typer.Option(help="Local port.", min=1, max=65535)] = 8501) -> None:
    """Open the web app, reachable from this machine only."""
    import subprocess
    from importlib.util import find_spec

    if find_spec("streamlit") is None:
        raise InputError("the app needs streamlit: pip install 'stepscope[app]'")
    command = [sys.executable, "-m", "streamlit", "run", str(_app_file())]
    ended = subprocess.call([*command, "--server.address", "localhost", "--server.port", str(port)])  # noqa: S603
    raise typer.Exit(ended)


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("stepscope")
    except metadata.PackageNotFoundError:
        return "of a checkout that is not installed"


def _app_file() -> Path:
    """`app.py` of an installed package, else of the checkout this file lies in."""
    beside = Path(__file__).resolve().parent.parent
    for file in (beside / "stepscope_app" / "app.py", beside / "app.py"):
        if file.is_file() and (file.parent / "pages").is_dir():
            return file
    raise InputError("app.py is not installed with this package; run `streamlit run app.py` in a checkout")


def _diagnose(
    paths: Iterable[str] | None, *, cache: bool, rank: int | None = None, baseline_step_ms: float | None = None
) -> Report:
    from analyze import diagnose

    with terminal.progress() as progress:
        chosen = paths or [str(newest_run(RUNS))]
        return diagnose(*chosen, baseline_step_ms=baseline_step_ms, rank=rank, progress=progress, cache=cache)


def newest_run(runs: Path) -> Path:
    """Return the run directory below `runs` whose manifest was written last."""
    manifests = sorted(runs.glob("*/manifest.*.json"), key=lambda manifest: manifest.stat().st_mtime_ns)
    if not manifests:
        raise InputError(f"no PATH given and no run under ./{runs}: record one with `stepscope collect`, or give a trace")
    return manifests[-1].parent


def _share(text: str) -> float:
    """'5%' or '0.05' as a fraction."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = float("nan")
    if not 0 <= share < float("inf"):
        raise InputError(f"--max-regression {text}: expected a share such as 5% or 0.05")
    return share


def _close(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3)
    return f", did you mean {' or '.join(close)}?" if close else ""


def _must_be_free(file: Path, force: bool) -> None:
    if file.exists() and not force:
        raise InputError(f"{file} exists; add --force to write over it")
    if not file.absolute().parent.is_dir():
        raise InputError(f"{file}: there is no folder {file.parent}")


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", errors="backslashreplace")
    terminal.say(f"wrote {file}")
