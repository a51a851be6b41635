"""A study as one self-contained page: no script, nothing fetched from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from analyze.report.plain_text import excerpt
from analyze.report.study_figures import figures
from analyze.report.study_text import what_ran
from analyze.study.model import QUESTIONS
from analyze.study.published_2023 import CAVEAT, SOURCE
from analyze.study.wording import MODES, amount, device

if TYPE_CHECKING:
    import polars as pl

    from analyze.study.model import Study

TEMPLATES = Path(__file__).parent / "templates"
TEXT_WIDTH = 600
COLOURS = {"cpu": "#2a9d8f", "cuda": "#3b7dd8"}


def render(study: Study) -> str:
    """Return a whole page, light or dark as the reader's system is."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("study.html").render(content(study))


def content(study: Study) -> dict[str, Any]:
    """Return what the template shows, as text."""
    return {
        "ran": _text(what_ran(study)),
        "in_short": [_text(statement.text) for statement in study.in_short],
        "answers": [
            (number, question, [_text(one.text) for one in study.conclusion if one.question == number])
            for number, question in QUESTIONS.items()
        ],
        "bars": bars(study.tables["throughput"]),
        "figures": list(figures(study)),
        "published_source": SOURCE,
        "caveat": CAVEAT,
        "tables": [_table(name, table) for name, table in study.tables.items() if name != "side_by_side" and table.height],
        "not_known": [_text(text) for text in study.not_known],
        "cells": [(cell.name, cell.state, _text(study.verdicts.get(cell.name) or cell.reason or "")) for cell in study.cells],
        "source": _text(study.source),
    }


def bars(throughput: pl.DataFrame) -> list[dict[str, Any]]:
    """Return images a second of each cell as bars: the widest of each mode is full."""
    widest = {mode: throughput.filter(throughput["mode"] == mode)["images_per_s"].max() for mode in MODES}
    return [
        {
            "label": f"{MODES.get(row['mode'], row['mode'])}, {device(row['device'])}, batch {row['batch_size']}",
            "value": f"{amount(row['images_per_s'])} images/s",
            "width": f"{100 * row['images_per_s'] / (widest.get(row['mode']) or row['images_per_s']):.1f}",
            "colour": COLOURS.get(row["device"], "#8590a2"),
        }
        for row in throughput.sort("mode", "batch_size", "device", descending=[True, False, False]).to_dicts()
    ]


def _table(name: str, table: pl.DataFrame) -> dict[str, Any]:
    rows = [[_cell(value) for value in row] for row in table.rows()]
    return {"name": name.replace("_", " "), "titles": [title.replace("_", " ") for title in table.columns], "rows": rows}


def _cell(value: object) -> str:
    if value is None:
        return "unknown"
    return amount(value) if isinstance(value, float) else _text(value)


def _text(value: object) -> str:
    return excerpt(value, TEXT_WIDTH)
