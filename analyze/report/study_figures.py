"""The 2023 study's figures and ours, as they are written: 'study' in one column, 'here' in the other."""

# ruff: noqa: RUF001, RUF002 - dashes of ranges are meant
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyze.study.wording import amount, device, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analyze.study.model import Study

UNKNOWN = "not measured"
MS_BELOW_S = 0.1


def figures(study: Study) -> Iterator[tuple[str, str, str, str]]:
    """Yield (what, study, here, note) for each figure of the 2023 study."""
    for row in study.tables["side_by_side"].to_dicts():
        where = [] if device(row["device"]) in row["what"] else [device(row["device"])]
        where += [] if row["batch_size"] is None else [f"batch {row['batch_size']}"]
        yield ", ".join([row["what"], *where]), row["study"], here(row), row["note"]


def here(row: Mapping[str, Any]) -> str:
    """'12.1 h (11.8–12.4), extrapolated', '177 of 700 W', 'not measured'."""
    if row["here"] is None:
        return UNKNOWN
    total = "" if row["here_total"] is None else f"of {amount(row['here_total'])} "
    text = _written(row["here"], f"{total}{row['unit']}")
    if row["here_low"] is not None and row["here_high"] is not None:
        text += f" ({_between(text, row)})"
    return f"{text}, extrapolated" if row["extrapolated"] else text


def _between(value: str, row: Mapping[str, Any]) -> str:
    """Both ends, the unit said again only where an end has another one than the value."""
    low, high = (_written(row[end], row["unit"]) for end in ("here_low", "here_high"))
    units = {text.rpartition(" ")[2] for text in (value, low, high)}
    if len(units) > 1:
        return f"{low} – {high}"
    return f"{low.rpartition(' ')[0]}–{high.rpartition(' ')[0]}"


def _written(value: float, unit: str) -> str:
    if unit == "h":
        return duration(value)
    return f"{amount(value * 1e3)} ms" if unit == "s" and value < MS_BELOW_S else f"{amount(value)} {unit}"
