"""How do decoded Python values become typed columns, where a value of the wrong type is null and counted?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import msgspec

SMALLEST, LARGEST = -(2**63), 2**63 - 1


def integers(values: Sequence[Any]) -> tuple[pl.Series, int]:
    """Int64 column and how many values were no integer; '0x1f', '12' and 3.0 are."""
    try:
        return pl.Series(values, dtype=pl.Int64, strict=True), 0
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return _each(values, _integer, pl.Int64)


def floats(values: Sequence[Any]) -> tuple[pl.Series, int]:
    """Float64 column and how many values were no finite number."""
    try:
        return pl.Series(values, dtype=pl.Float64, strict=True), 0
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return _each(values, _float, pl.Float64)


def texts(values: Sequence[Any] | pl.Series) -> tuple[pl.Series, int]:
    """Categorical column; numbers are written as text."""
    try:
        return pl.Series(values, dtype=pl.Categorical, strict=True), 0
    except (TypeError, pl.exceptions.PolarsError):
        shown = [None if value is None else str(value) for value in values]
        return pl.Series(shown, dtype=pl.Categorical), 0


def lanes(values: Sequence[Any]) -> pl.Series:
    """Process or thread ids as Categorical text, whatever their type and size."""
    try:
        numbers = pl.Series(values, dtype=pl.Int64, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        shown = {value: _lane(value) for value in set(values)}
        return texts([shown[value] for value in values])[0]
    distinct = numbers.unique()
    named: pl.Series = numbers.replace_strict(distinct, texts(distinct.cast(pl.String))[0], return_dtype=pl.Categorical)
    return named


def json_texts(values: Sequence[msgspec.Raw]) -> tuple[pl.Series, int]:
    """Categorical column of the file's JSON text, without line breaks; null where the key is absent."""
    if not values:
        return pl.Series(dtype=pl.Categorical), 0
    # NUL stands in no valid JSON, so the texts can be joined and split again without a Python object for each
    joined = b"\0".join(values).decode("utf-8", "replace")
    text = pl.Series([joined]).str.split("\0").explode().replace("", None)
    if "\n" in joined:
        text = text.str.replace_all(r"\s*\n\s*", "")
    return text.cast(pl.Categorical), 0


def _each(values: Sequence[Any], convert: Callable[[Any], Any], dtype: Any) -> tuple[pl.Series, int]:  # noqa: ANN401
    converted = [convert(value) for value in values]
    failed = sum(new is None and old is not None for new, old in zip(converted, values, strict=True))
    return pl.Series(converted, dtype=dtype), failed


def _integer(value: object) -> int | None:
    try:
        number = int(value, 0) if isinstance(value, str) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if SMALLEST <= number <= LARGEST and (not isinstance(value, float) or number == value) else None


def _float(value: object) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _lane(value: object) -> str | None:
    if value is None:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
