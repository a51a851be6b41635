"""Two tools' figures side by side, as text and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from analyze.report.document import SCHEMA_VERSION, json_value
from analyze.report.plain_text import clipped, columns, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.report.headline import Line

#: rows listed where both agree are of little use: they are counted
HEAD = ("rank", "figure", "ours", "HTA", "differs")
MAX_FIGURE_COLUMNS = 34


def lines(rows: pl.DataFrame, width: int) -> list[Line]:
    """Summary, then every row that differs with the reason; rows that nothing explains come first."""
    agrees = rows.filter("agrees")
    differing = rows.filter(~pl.col("agrees")).sort(pl.col("explanation").is_not_null(), maintain_order=True)
    open_rows = differing.filter(pl.col("explanation").is_null())
    summary = (
        f"{rows.height} figures of both tools: {agrees.height} equal within 0.1 %, "
        f"{differing.height - open_rows.height} explained, {open_rows.height} not explained"
    )
    return [((summary, "bold"),), *(((line, ""),) for line in _table(differing, width))]


def _table(rows: pl.DataFrame, width: int) -> Iterator[str]:
    if rows.is_empty():
        return
    cells = [
        (
            "-" if row["rank"] is None else str(row["rank"]),
            clipped(
                shown(f"{row['question']}: {row['name']}" + (f" [{row['unit']}]" if row["unit"] else "")), MAX_FIGURE_COLUMNS
            ),
            _number(row["ours"]),
            _number(row["hta"]),
            "-" if row["difference"] is None else f"{row['difference']:+.1%}",
        )
        for row in rows.to_dicts()
    ]
    explained = ["", *(row or "not explained" for row in rows["explanation"].to_list())]
    for line, why in zip(_aligned([HEAD, *cells]), explained, strict=True):
        yield clipped(line, width)
        if why:
            yield clipped(f"      {shown(why)}", width)


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    sizes = [max(columns(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell + " " * (size - columns(cell)) for cell, size in zip(row, sizes, strict=True)).rstrip() for row in rows
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}".rstrip("0").rstrip(".")


def render(rows: pl.DataFrame) -> str:
    """Every row, as one JSON document."""
    document = {"schema_version": SCHEMA_VERSION, "rows": [json_value(row) for row in rows.to_dicts()]}
    return json.dumps(document, indent=1, ensure_ascii=False)
