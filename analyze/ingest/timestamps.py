"""How does a decimal microsecond text become exact integer nanoseconds?

float64 cannot carry absolute microseconds with three decimals, and `round(x * 1000)` is wrong for a quarter of the rows
even where it can, so timestamps are read digit by digit and durations are split before they are scaled.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    import msgspec

DIGITS_OF_INT64 = 18
NINE = 9
LARGEST_NS = 2**63 - 1
#: below this, float64 holds three decimals of a microsecond exactly enough to round them
EXACT_FLOAT_US = float(2**43)


def nanoseconds(texts: Sequence[msgspec.Raw]) -> tuple[pl.Series, int]:
    """Int64 nanoseconds of the microsecond texts, null where a text is absent or no number; and how many were no number."""
    lines = b"\n".join(texts)
    fast = _fixed_width(lines + b"\n", len(texts)) if lines else pl.Series(dtype=pl.Int64)
    if fast is not None:
        return fast, 0
    rows = lines.split(b"\n")
    slow = [exact_nanoseconds(row) for row in rows]
    bad = sum(value is None and row != b"null" for value, row in zip(slow, rows, strict=True))
    return pl.Series(slow, dtype=pl.Int64), bad


def _fixed_width(lines: bytes, count: int) -> pl.Series | None:
    """All rows as `digits.ddd` or all as `digits`, of one width: what one writer prints nearly always."""
    width = lines.index(b"\n") + 1
    table = np.frombuffer(lines, np.uint8)
    if table.size != count * width:
        return None
    table = table.reshape(count, width)
    if not (table[:, -1] == ord("\n")).all():
        return None
    if width > len(".ddd\n") and (table[:, -5] == ord(".")).all():
        table, scale = table[:, [*range(width - 5), -4, -3, -2]], 1
    else:
        table, scale = table[:, :-1], 1000
    digits = table - np.uint8(ord("0"))
    if digits.shape[1] + (3 if scale > 1 else 0) > DIGITS_OF_INT64 or not digits.size or digits.max() > NINE:
        return None
    value = digits[:, 0].astype(np.int64)
    for position in range(1, digits.shape[1]):
        value *= 10
        value += digits[:, position]
    return pl.Series(value * scale, dtype=pl.Int64)


def exact_nanoseconds(text: bytes | str) -> int | None:
    """Nanoseconds of one microsecond text; quotes are ignored, null where it is no finite number or beyond Int64."""
    plain = (text.decode("utf-8", "replace") if isinstance(text, bytes) else text).strip().strip('"')
    try:
        value = int((Decimal(plain) * 1000).to_integral_value())
    except (InvalidOperation, ValueError, OverflowError):
        return None
    return value if abs(value) <= LARGEST_NS else None


def durations(values: Sequence[float | str | None]) -> tuple[pl.Series, int]:
    """Int64 nanoseconds of durations in microseconds, null where absent or no number; and how many were no number."""
    try:
        series = pl.Series(values, dtype=pl.Float64, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        return _each_duration(values)
    if series.is_nan().any() or (series.abs() >= EXACT_FLOAT_US).any():
        return _each_duration(values)
    whole = series.floor()
    return whole.cast(pl.Int64) * 1000 + ((series - whole) * 1000).round().cast(pl.Int64), 0


def _each_duration(values: Sequence[float | str | None]) -> tuple[pl.Series, int]:
    exact = [None if value is None else exact_nanoseconds(str(value)) for value in values]
    bad = sum(new is None and old is not None for new, old in zip(exact, values, strict=True))
    return pl.Series(exact, dtype=pl.Int64), bad
