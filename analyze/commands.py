"""The commands: which part of `analyze` it calls, what of `analyze.report` it shows."""

# ruff: noqa: PLC0415 - a command imports what it needs when it runs; the others' imports would cost it its start-up time
from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from analyze import terminal
from analyze.command_files import must_be_free, must_be_one_run, newest_run
from analyze.errors import InputError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from analyze.findings.model import Report
    from analyze.ingest import Limits

#: where `collect` puts runs unless told otherwise
RUNS = Path("runs")


def report(
    *,
    paths: list[str],
    baseline_step_ms: float | None,
    rank: int | None,
    json: bool,
    html: Path | None,
    perfetto: Path | None,
    force: bool,
    limits: list[tuple[str, int]],
    cache: bool,
    dask: str | None,
) -> None:
    """Say why a step takes as long as it does and what each fix would give back."""
    target = html or perfetto
    if target is not None:
        must_be_free(target, force)
    found = _diagnose(paths, baseline_step_ms=baseline_step_ms, rank=rank, limits=limits, cache=cache, dask=dask)
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


def compare(
    *, base: str, new: str, max_regression: float | None, metric: str, json: bool, limits: list[tuple[str, int]], cache: bool
) -> None:
    """Compare two runs; with --max-regression fail (1), or say that the noise is too large (3)."""
    from analyze import comparison
    from analyze.report import comparison_text

    before, after = (_diagnose([path], limits=limits, cache=cache) for path in (base, new))
    result = comparison.compare(before, after, metric=metric, max_regression=max_regression)
    if json:
        terminal.say(comparison_text.render(result))
    else:
        terminal.say_lines(comparison_text.lines(result, terminal.width()))
    result.gate()


def study(
    *, directory: str, epochs: int | None, images: int | None, json: bool, html: Path | None, force: bool, cache: bool
) -> None:
    """Say what a study of several devices, batch sizes and modes came to."""
    from analyze.study import read_study

    if html is not None:
        must_be_free(html, force)
    asked = {name: count for name, count in (("epochs", epochs), ("images_per_epoch", images)) if count is not None}
    with terminal.counting("reading") as progress:
        found = read_study(directory, progress=progress, cache=cache, **asked)
    if json:
        from analyze.report import study_document

        terminal.say(study_document.render(found))
    elif html is not None:
        from analyze.report import study_html

        _write(html, study_html.render(found))
    else:
        from analyze.report import study_text

        terminal.say_lines(study_text.lines(found, terminal.width()))


def export(
    *,
    paths: list[str],
    table: str | None,
    to: Path | None,
    names: bool,
    rank: int | None,
    force: bool,
    limits: list[tuple[str, int]],
    cache: bool,
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
        must_be_free(to, force)
    frame = _diagnose(paths, rank=rank, limits=limits, cache=cache).table(table)
    if to is None:
        terminal.say(table_rows.csv_text(frame))
    elif to.suffix == ".csv":
        _write(to, table_rows.csv_text(frame))
    else:
        frame.write_parquet(to)
        terminal.say(f"wrote {to}")


def explain(*, detector: str) -> None:
    """Print what a finding means, how it is measured, how to fix it, and a real one."""
    from analyze import catalogue, examples
    from analyze.report import catalogue_text

    by_id = {one.id: one for one in catalogue()}
    if detector not in by_id:
        raise UnknownName(f"no detector {detector}{_close(detector, by_id)}; see stepscope detectors")
    terminal.say_lines(list(catalogue_text.explanation(by_id[detector], examples().get(detector), terminal.width())))


def detectors() -> None:
    """List the detectors."""
    from analyze import catalogue
    from analyze.report import catalogue_text

    terminal.say_lines(catalogue_text.detector_list(catalogue()))


def app(*, port: int) -> int:
    """Open the web app, reachable from this machine only."""
    import subprocess
    from importlib.util import find_spec

    if find_spec("streamlit") is None:
        raise InputError("the app needs streamlit: pip install 'stepscope[app]'")
    command = [sys.executable, "-m", "streamlit", "run", str(_app_file())]
    return subprocess.call([*command, "--server.address", "localhost", "--server.port", str(port)])  # noqa: S603


def version() -> None:
    """Print the version."""
    from importlib import metadata

    try:
        terminal.say(f"stepscope {metadata.version('stepscope')}")
    except metadata.PackageNotFoundError:
        terminal.say("stepscope of a checkout that is not installed")


def _app_file() -> Path:
    """`app.py` of an installed package, else of the checkout this file lies in."""
    beside = Path(__file__).resolve().parent.parent
    for file in (beside / "stepscope_app" / "app.py", beside / "app.py"):
        if file.is_file() and (file.parent / "views").is_dir():
            return file
    raise InputError("app.py is not installed with this package; run `streamlit run app.py` in a checkout")


def crosscheck(*, paths: list[str], json: bool, limits: list[tuple[str, int]], cache: bool) -> None:
    """Hold our figures against HolisticTraceAnalysis on the same files, and say why they differ where they do."""
    from analyze import ingest
    from analyze.crosscheck import crosscheck as compare_figures
    from analyze.report import crosscheck_text

    with terminal.progress() as progress:
        chosen = paths or [str(newest_run(RUNS))]
        recording = ingest.read(chosen, limits=_limits(dict(limits)) or ingest.Limits(), progress=progress, cache=cache)
    rows = compare_figures(recording.traces)
    if json:
        terminal.say(crosscheck_text.render(rows))
    else:
        terminal.say_lines(crosscheck_text.lines(rows, terminal.width()))


def _diagnose(
    paths: Iterable[str],
    *,
    limits: Iterable[tuple[str, int]],
    cache: bool,
    rank: int | None = None,
    baseline_step_ms: float | None = None,
    dask: str | None = None,
) -> Report:
    from analyze import diagnose

    paths = list(paths)
    must_be_one_run(paths)
    options = {"baseline_step_ms": baseline_step_ms, "rank": rank, "limits": _limits(dict(limits)), "cache": cache, "dask": dask}
    with terminal.progress() as progress:
        return diagnose(*(paths or [str(newest_run(RUNS))]), progress=progress, **options)


def _limits(raised: dict[str, int]) -> Limits | None:
    if not raised:
        return None
    from dataclasses import fields

    from analyze.ingest import Limits

    known = [field.name for field in fields(Limits)]
    for name in raised:
        if name not in known:
            raise InputError(f"--limit {name}: there are {', '.join(known)}")
    return Limits(**raised)


def _close(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=3)
    return f", did you mean {' or '.join(close)}?" if close else ""


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", errors="backslashreplace")
    terminal.say(f"wrote {file}")
