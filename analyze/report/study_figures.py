"""The 2023 study's figures and ours, as they are written: 'study' in one column, 'here' in the other."""

# ruff: noqa: RUF001, RUF002 - dashes of ranges are meant
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyze.study.wording import amount, device, duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from analyze.study.model import Study

UNKNOWN = "not measured"


def figures(study: Study) -> Iterator[tuple[str, str, str, str]]:
    """Yield (what, study, here, note) for each figure of the 2023 study."""
    for row in study.tables["side_by_side"].to_dicts():
        at = "" if row["batch_size"] is None else f", batch {row['batch_size']}"
        yield f"{device(row['device'])}{at}: {row['what']}", row["study"], here(row), row["note"]


def here(row: Mapping[str, Any]) -> str:
    """'12.1 h (11.8–12.4), extrapolated', 'not measured'."""
    if row["here"] is None:
        return UNKNOWN
    text = _written(row["here"], row["unit"])
    if row["here_low"] is not None and row["here_high"] is not None:
        text += f" ({_written(row['here_low'], row['unit'])} – {_written(row['here_high'], row['unit'])})"
    return f"{text}, extrapolated" if row["extrapolated"] else text


def _written(value: float, unit: str) -> str:
    return duration(value) if unit == "h" else f"{amount(value)} {unit}"
