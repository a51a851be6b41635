"""Choosing what to look at: a recorded run, a path, an upload."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import streamlit as st

from analyze.errors import StepscopeError
from analyze.report.plain_text import shown
from views.shell.session import open_source, session
from views.shell.sidebar import BASELINE, BASELINE_HELP
from views.shell.source import Source, from_path, from_upload, recorded_runs
from views.shell.studies import NAME, open_study, recorded_studies, study_at

APP = Path(__file__).resolve().parents[2]
OVER_LIMIT = (
    "Up to 2 GB a file. Over that, use *By path*: the file is then read from where it lies and never held in memory. "
    "A proxy in front of this server may allow less."
)


def choose() -> None:
    """Show the three ways to open something."""
    st.title("Why does a training step take this long?")
    st.markdown("Open a recorded run, or a profiler trace that somebody sent you.")
    recorded, by_path, upload = st.tabs(["Recorded runs", "By path", "Upload"])
    with recorded:
        _recorded()
    with by_path:
        _by_path()
    with upload:
        _upload()


def _open(source: Source) -> None:
    open_source(source)
    st.switch_page("views/overview.py")


def _open_path(text: str, baseline_step_ms: float | None = None) -> None:
    study = study_at(text)
    if study is not None:
        open_study(study)
        return
    try:
        source = from_path(text)
    except StepscopeError as error:
        st.code(shown(error), language=None, wrap_lines=True)
    else:
        _open(replace(source, baseline_step_ms=baseline_step_ms))


def _baseline(where: str) -> float | None:
    """Ask for the step time that a trace cannot tell; a recorded run knows it."""
    return st.number_input(
        f"{BASELINE}, if you know it", min_value=0.001, value=None, step=None, help=BASELINE_HELP, key=f"baseline_{where}"
    )


def _recorded() -> None:
    folder = st.text_input("Folder with runs", value="runs", help="Relative to where the app was started.")
    folders = dict.fromkeys([Path(folder).expanduser().absolute(), APP / "sample_traces"])
    runs = _newest_first([*recorded_studies(folders), *recorded_runs(folders)])
    if not runs:
        st.text("No recorded runs here yet. This records one, on whatever device there is:")
        st.code("python -m collect", language="bash")
        return
    chosen = st.selectbox("Run, newest first", runs, format_func=_run_name)
    if st.button("Open run", type="primary"):
        _open_path(str(chosen))


def _newest_first(runs: list[Path]) -> list[Path]:
    return sorted(runs, key=lambda run: -run.stat().st_mtime)


def _run_name(run: Path) -> str:
    recorded = datetime.fromtimestamp(run.stat().st_mtime).astimezone()
    kind = " (study)" if (run / NAME).is_file() else ""
    return f"{shown(run.parent.name)} / {shown(run.name)}{kind}, {recorded:%Y-%m-%d %H:%M}"


def _by_path() -> None:
    with st.form("by_path", border=False):
        text = st.text_input(
            "Path or address", placeholder="runs/2026-05-04, trace.json.gz, traces.zip, s3://bucket/trace.json.gz"
        )
        baseline = _baseline("path")
        submitted = st.form_submit_button("Open path", type="primary")
    st.caption(
        "A run directory, a study, a trace, an archive or a folder of traces, of any size, on the machine that runs this app."
    )
    if submitted:
        _open_path(text, baseline)


def _upload() -> None:
    generation = st.session_state.setdefault("upload_generation", 0)
    files = st.file_uploader(
        "Traces (.json, .json.gz), archives (.zip, .tar) or the files of a run directory",
        accept_multiple_files=True,
        key=f"upload_{generation}",
    )
    st.caption(OVER_LIMIT)
    baseline = _baseline("upload")
    if files and st.button(f"Diagnose {len(files)} file{'s' * (len(files) > 1)}", type="primary"):
        stored = session().uploads.store(files)
        # A new widget in its place lets go of the bytes that the old one holds in memory.
        st.session_state["upload_generation"] = generation + 1
        _open(replace(from_upload(stored), baseline_step_ms=baseline))
