"""Look numbers up in a study's tables so that each sentence can say where its numbers stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analyze.study.model import Number, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    Tables = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Row:
    """One row of a table, under its place."""

    table: str
    index: int
    values: Mapping[str, Any]

    def __getitem__(self, column: str) -> Any:  # noqa: ANN401 - as the column has it
        """Return a value; None where it is not known."""
        return self.values[column]

    def cite(self, *columns: str) -> tuple[Number, ...]:
        """Return these values with their places."""
        return tuple(Number(table=self.table, row=self.index, column=name, value=self.values[name]) for name in columns)


def rows(tables: Tables, table: str, **wanted: object) -> list[Row]:
    """Return the rows whose columns have these values, in order; none where the study lacks the table."""
    frame = tables.get(table)
    if frame is None:
        return []
    return [
        Row(table, index, values)
        for index, values in enumerate(frame.to_dicts())
        if all(values[name] == value for name, value in wanted.items())
    ]


def row(tables: Tables, table: str, **wanted: object) -> Row | None:
    """Return the first such row, None where there is none."""
    return next(iter(rows(tables, table, **wanted)), None)


def statement(rule: str, question: int, text: str, *numbers: tuple[Number, ...]) -> Statement:
    """Return a sentence with what it rests on."""
    return Statement(rule=rule, question=question, text=text, numbers=tuple(one for some in numbers for one in some))
