"""Which arguments of an event become columns, and how are they decoded without looking at the others?

Per family a struct is built at run time from the keys that its columns may have; every other key is skipped by the
decoder and stays reachable through the `raw` family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from analyze import schema
from analyze.ingest import cells
from analyze.ingest.compiled.arguments import scanned_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from polars._typing import PolarsDataType

    from analyze.ingest.quality import QualityLog

    Positions = np.ndarray[Any, np.dtype[np.int64]]
    Convert = Callable[[Sequence[Any]], tuple[pl.Series, int]]

#: columns that hold lists, kept as the file's own JSON text
JSON_COLUMNS = frozenset({"input_dims", "input_types", "input_strides", "concrete_inputs", "group_ranks", "grid", "block"})
#: columns that most traces have not, by a mark in the text of those that have: looking for it costs less than building them
MARKED = frozenset(each.name for each in schema.COLLECTIVE_ARGS)
MARKING = ("Collective name", "Process Group Name")
MARKS = tuple(b'"' + each.encode() + b'"' for each in MARKING)
DTYPES: Mapping[str, PolarsDataType] = {
    "int": pl.Int64,
    "float": pl.Float64,
    "text": pl.Categorical,
    "json": pl.Categorical,
}
CONVERT: Mapping[str, Convert] = {
    "int": cells.integers,
    "float": cells.floats,
    "text": cells.texts,
    "json": cells.json_texts,
}


def column_kind(family: str, column: str) -> str:
    """Return `int`, `float`, `text` or `json`: how the column is decoded."""
    if column in JSON_COLUMNS:
        return "json"
    dtype = {each.name: each.dtype for each in schema.FAMILIES[family]}.get(column, pl.Int64)
    return {pl.Int64: "int", pl.Float64: "float"}.get(dtype, "text")  # type: ignore[call-overload,no-any-return]


class ArgumentReader:
    """Decodes the arguments of one family's events into its columns."""

    def __init__(self, family: str, keys: Mapping[str, Sequence[str]]) -> None:
        self.columns = list(keys)
        self.kinds = [column_kind(family, column) for column in self.columns]
        self.sources: list[list[str]] = []
        fields: list[tuple[str, Any, Any]] = []
        for kind, column in zip(self.kinds, self.columns, strict=True):
            names = []
            for key in keys[column]:
                names.append(f"f{len(fields)}")
                default = msgspec.Raw() if kind == "json" else None
                declared: Any = msgspec.Raw if kind == "json" else bool | int | float | str | None
                fields.append((names[-1], declared, msgspec.field(default=default, name=key)))
            self.sources.append(names)
        self.struct = msgspec.defstruct("Arguments", fields, gc=False)
        self.decoder = msgspec.json.Decoder(list[self.struct | None])  # type: ignore[name-defined]
        self.one = msgspec.json.Decoder(self.struct)
        self.nothing = self.struct()
        self.keys = [(key, kind) for kind, column in zip(self.kinds, self.columns, strict=True) for key in keys[column]]
        # twice as fast as attrgetter; the names are our own
        self.getters = {name: eval(f"lambda rows: [row.{name} for row in rows]") for name, _, _ in fields}  # noqa: S307

    def read(self, texts: Sequence[msgspec.Raw], quality: QualityLog) -> tuple[dict[str, pl.Series], int | None]:
        """Columns by name, one value per text, and the row of the first value that could not be typed."""
        if not self.columns:
            return {}, None
        joined = b"[" + b",".join(texts) + b"]"
        absent = frozenset[str]() if any(mark in joined for mark in MARKS) else MARKED
        rows, failed_row = self._decode(joined, texts, quality)
        found: dict[str, pl.Series] = {}
        for column, kind, names in zip(self.columns, self.kinds, self.sources, strict=True):
            if column in absent:
                found[column] = pl.Series([None], dtype=DTYPES[kind]).new_from_index(0, len(rows))
                continue
            series, failed = self._column(rows, CONVERT[kind], names)
            quality.add("untyped-cell", failed)
            # another key may have given the value that this one could not
            if failed and failed_row is None and series.null_count():
                failed_row = int(series.is_null().arg_true()[0])
            found[column] = series
        return found, failed_row

    def scan(self, text: bytes, begins: Positions, lengths: Positions) -> dict[str, pl.Series] | None:
        """Columns by name of the arguments at these places, by the compiled reader; None where it is not to be had."""
        found = scanned_arguments(text, begins, lengths, self.keys)
        if found is None:
            return None
        series = iter(found)
        columns: dict[str, pl.Series] = {}
        marked = any(each is not None for each, (key, _) in zip(found, self.keys, strict=True) if key in MARKING)
        for column, kind, names in zip(self.columns, self.kinds, self.sources, strict=True):
            given = [each for each in [next(series) for _ in names] if each is not None]
            if not given or (column in MARKED and not marked):
                columns[column] = pl.Series([None], dtype=DTYPES[kind]).new_from_index(0, len(begins))
            else:
                columns[column] = given[0] if len(given) == 1 else pl.select(pl.coalesce(map(pl.lit, given))).to_series()
        return columns

    def _column(self, rows: list[Any], convert: Convert, names: Sequence[str]) -> tuple[pl.Series, int]:
        """The first of several keys that an event has gives the value."""
        series, failed = convert(self.getters[names[0]](rows))
        for name in names[1:]:
            other, more = convert(self.getters[name](rows))
            failed += more
            if other.null_count() < len(other):
                series = pl.select(pl.coalesce(pl.lit(series), pl.lit(other))).to_series()
        return series, failed

    def _decode(self, joined: bytes, texts: Sequence[msgspec.Raw], quality: QualityLog) -> tuple[list[Any], int | None]:
        try:
            rows = self.decoder.decode(joined)
        except msgspec.DecodeError:
            return self._decode_each(texts, quality)
        if None in rows:
            rows = [self.nothing if row is None else row for row in rows]
        return rows, None

    def _decode_each(self, texts: Sequence[msgspec.Raw], quality: QualityLog) -> tuple[list[Any], int | None]:
        """One event at a time, where a value of some event has a type that no column can hold."""
        rows, first = [], None
        for index, text in enumerate(texts):
            try:
                rows.append(self.one.decode(text))
                continue
            except msgspec.DecodeError:
                row, failed = self._loosely(bytes(text))
            rows.append(row)
            quality.add("untyped-cell", failed)
            first = index if first is None and failed else first
        return rows, first

    def _loosely(self, text: bytes) -> tuple[Any, int]:
        """Field by field; and how many had to be given up."""
        row = self.struct()
        try:
            given = msgspec.json.decode(text, type=dict[str, msgspec.Raw] | None)
        except msgspec.DecodeError:
            return row, 1
        failed = 0
        for field in msgspec.structs.fields(self.struct):
            value = (given or {}).get(field.encode_name)
            if value is None:
                continue
            try:
                setattr(row, field.name, value if field.type is msgspec.Raw else msgspec.json.decode(value, type=field.type))
            except msgspec.DecodeError:
                failed += 1
        return row, failed
