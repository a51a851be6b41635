"""Single numbers out of Polars, whose aggregates are typed as anything a cell may hold."""

from __future__ import annotations

from typing import cast


def number(value: object) -> float:
    """An aggregate as a float; the caller knows that it is not null."""
    return float(cast("float", value))


def number_or_none(value: object) -> float | None:
    """An aggregate as a float, None where there was nothing to aggregate."""
    return None if value is None else number(value)


def whole(value: object) -> int:
    """An aggregate as an int; the caller knows that it is not null."""
    return int(cast("int", value))
