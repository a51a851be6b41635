"""A study: the same training on several devices, at several batch sizes, and inference; the 2023 study beside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

from analyze.errors import StepscopeError
from analyze.report.charts.study import causes_figure, latency_figure, throughput_figure, training_time_figure
from analyze.report.charts.study_lines import PANELS, loss_figure, over_time_figure
from analyze.report.plain_text import shown
from analyze.report.study_figures import figures
from analyze.report.study_text import what_ran
from analyze.study.model import QUESTIONS
from analyze.study.published_2023 import CAVEAT, EPOCHS, IMAGES_PER_EPOCH, SOURCE
from views.shell.markup import bullets, line
from views.shell.studies import OPENED, opened_study, recorded_studies, study_name
from views.shell.table import show_table, text_table
from views.shell.telemetry_chart import CONFIG

if TYPE_CHECKING:
    from analyze.report.charts.panels import Figure
    from analyze.study import Study

SAMPLES = Path(__file__).resolve().parents[1] / "sample_traces"
RECORD = "python -m collect --device cpu,cuda --batch-size 64,128 --mode train,infer"


def _chosen() -> tuple[Path, int, int] | None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        folder = st.text_input("Folder with studies", value="runs", help="Relative to where the app was started.")
        found = recorded_studies(dict.fromkeys([Path(folder).expanduser().absolute(), SAMPLES]))
        opened = st.session_state.get(OPENED)
        if opened is not None:
            found = [opened, *(path for path in found if path != opened)]
        study = st.selectbox("Study, newest first", found, format_func=study_name) if found else None
        epochs = st.number_input("Epochs", min_value=1, value=EPOCHS, help="Training time is extrapolated to so many.", width=120)
        images = st.number_input("Images an epoch", min_value=1, value=IMAGES_PER_EPOCH, width=150)
    if study is None:
        line("No recorded study here yet. This records one; where there is no GPU, leave cuda out:")
        st.code(RECORD, language="bash")
        return None
    return study, int(epochs), int(images)


def _charts(study: Study, question: int) -> list[Figure]:
    """What is drawn beside the answer to this question."""
    drawn = {1: (causes_figure,), 4: (training_time_figure,), 5: (latency_figure,), 6: (loss_figure,)}.get(question, ())
    figures = [draw(study) for draw in drawn]
    if question in PANELS:
        figures.append(over_time_figure(study, question))
    return [figure for figure in figures if figure is not None]


def _answers(study: Study) -> None:
    for number, question in QUESTIONS.items():
        st.subheader(f"{number}. {question}")
        charts = _charts(study, number)
        answer, drawn = st.columns([3, 2], gap="large") if charts else (st.container(), st.container())
        with answer:
            texts = [statement.text for statement in study.conclusion if statement.question == number]
            if texts:
                bullets(texts)
            else:
                line("Not known: nothing was recorded that would tell.", faint=True)
        for index, figure in enumerate(charts):
            drawn.plotly_chart(figure, width="stretch", config=CONFIG, key=f"chart_{number}_{index}")


def _beside(study: Study) -> None:
    st.subheader("Beside the 2023 study")
    text_table(("what", "study", "here", "how they differ"), figures(study))
    line(f"study: {SOURCE}. {CAVEAT}", faint=True)


def _behind(study: Study) -> None:
    if study.not_known:
        st.subheader("Not known")
        bullets(list(study.not_known))
    st.subheader("The cells")
    cells = [(cell.name, cell.state, study.verdicts.get(cell.name) or cell.reason or "") for cell in study.cells]
    text_table(("cell", "state", "diagnosis"), cells)
    line("Each is a run of its own; Open another shows it like any other.", faint=True)
    st.subheader("The numbers")
    name = st.selectbox("Table", [name for name, table in study.tables.items() if table.height])
    if name is not None:
        show_table(study.tables[name])


def _show(study: Study) -> None:
    line(what_ran(study), faint=True)
    for statement in study.in_short:
        line(statement.text, size="1.3rem", weight=600)
    drawn = [figure for figure in (throughput_figure(study, mode) for mode in ("train", "infer")) if figure is not None]
    for column, figure in zip(st.columns(max(len(drawn), 1)), drawn, strict=False):
        column.plotly_chart(figure, width="stretch", config=CONFIG)
    if study.over_time.is_empty():
        line("No telemetry was recorded.", faint=True)
    _answers(study)
    _beside(study)
    _behind(study)


st.title("Study")
chosen = _chosen()
if chosen is not None:
    try:
        opened = opened_study(*chosen)
    except StepscopeError as error:
        st.code(shown(error), language=None, wrap_lines=True)
    else:
        _show(opened)
