"""The 2023 study's figures and ours, beside each other and never mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.schema import Column
from analyze.study.cited import rows
from analyze.study.published_2023 import FIGURES
from analyze.study.tables._cells import frame

if TYPE_CHECKING:
    from analyze.study.cited import Row, Tables
    from analyze.study.published_2023 import Published

COLUMNS = (
    Column("question", pl.Int64, "", "1 to 7"),
    Column("what", pl.String, "", "what is measured"),
    Column("device", pl.String, "", "cpu or cuda"),
    Column("batch_size", pl.Int64, "", "images per step; null where the study names none"),
    Column("unit", pl.String, "", "of study_low to here_high"),
    Column("study", pl.String, "", "the study's figure as quoted"),
    Column("study_low", pl.Float64, "by unit", "its lower end; null where it gives none"),
    Column("study_high", pl.Float64, "by unit", "its upper end"),
    Column("here", pl.Float64, "by unit", "ours; null where it was not measured"),
    Column("here_low", pl.Float64, "by unit", "lower end of its interval; null without one"),
    Column("here_high", pl.Float64, "by unit", "upper end of it"),
    Column(
        "here_total",
        pl.Float64,
        "by unit",
        "what ours is a part of, such as the memory of the host; null where nothing or not known",
    ),
    Column("extrapolated", pl.Boolean, "", "whether ours is extrapolated from a short stretch"),
    Column("note", pl.String, "", "how the two differ"),
    Column("table", pl.String, "", "where ours stands: table"),
    Column("row", pl.Int64, "", "row of it, from 0"),
    Column("column", pl.String, "", "column of it"),
)


def side_by_side(tables: Tables) -> pl.DataFrame:
    """One row per figure of the study."""
    return frame([_row(figure, _ours(figure, tables)) for figure in FIGURES], COLUMNS)


def _ours(figure: Published, tables: Tables) -> Row | None:
    wanted = {**figure.where, "device": figure.device}
    if figure.batch_size is not None:
        wanted["batch_size"] = figure.batch_size
    found = rows(tables, figure.table, **wanted)
    return next((row for row in found if row[figure.column] is not None), None)


def _row(figure: Published, ours: Row | None) -> dict[str, Any]:
    here: dict[str, Any] = {}
    if ours is not None:
        named = {"here": figure.column}
        if figure.bounds is not None:
            named |= {"here_low": figure.bounds[0], "here_high": figure.bounds[1]}
        if figure.total is not None:
            named["here_total"] = figure.total
        here = {name: None if ours[column] is None else ours[column] / figure.divisor for name, column in named.items()}
        here |= {"table": ours.table, "row": ours.index, "column": figure.column}
    return {
        "question": figure.question,
        "what": figure.what,
        "device": figure.device,
        "batch_size": figure.batch_size,
        "unit": figure.unit,
        "study": figure.text,
        "study_low": figure.low,
        "study_high": figure.high,
        "extrapolated": figure.table == "training_time",
        "note": figure.note,
        **here,
    }
