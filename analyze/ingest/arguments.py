"""Which arguments of an event become columns, and how are they decoded without looking at the others?

Per family a struct is built at run time from the keys that its columns may have; every other key is skipped by the
decoder and stays reachable through the `raw` family.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from analyze import schema
from analyze.ingest import cells

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from analyze.ingest.quality import QualityLog

#: columns that hold lists, kept as the file's own JSON text
JSON_COLUMNS = frozenset(
    {"input_dims", "input_types", "input_strides", "concrete_inputs", "group_ranks", "grid", "block"}
)
EXTRA_KINDS: Mapping[str, str] = {"grid": "json", "block": "json"}


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
        self.nothing = self.struct()

    def read(self, texts: Sequence[msgspec.Raw], quality: QualityLog, offset: int) -> dict[str, pl.Series]:
        """Columns by name, one value per text."""
        if not self.columns:
            return {}
        rows = self._decode(texts, quality, offset)
        found: dict[str, pl.Series] = {}
        for column, kind, names in zip(self.columns, self.kinds, self.sources, strict=True):
            series, failed = self._column(rows, kind, names)
            quality.add("untyped-cell", failed, offset)
            found[column] = series.alias(column)
        return found

    def _decode(self, texts: Sequence[msgspec.Raw], quality: QualityLog, offset: int) -> list[Any]:
        joined = b"[" + b",".join([text or b"null" for text in map(bytes, texts)]) + b"]"
        try:
            rows = self.decoder.decode(joined)
        except msgspec.DecodeError:
            rows = [self._decode_one(text, quality, offset) for text in texts]
        return [self.nothing if row is None else row for row in rows]

    def _decode_one(self, text: msgspec.Raw, quality: QualityLog, offset: int) -> Any:  # noqa: ANN401
        plain = bytes(text).decode("utf-8", "replace")
        try:
            given = msgspec.json.decode(plain or "null", type=dict[str, msgspec.Raw] | None)
        except msgspec.DecodeError:
            quality.add("untyped-cell", 1, offset)
            return None
        if given is None:
            return None
        kept = self.struct()
        for field in msgspec.structs.fields(self.struct):
            value = given.get(field.encode_name)
            if value is None:
                continue
            try:
                setattr(
                    kept,
                    field.name,
                    value if field.type is msgspec.Raw else msgspec.json.decode(value, type=field.type),
                )
            except msgspec.DecodeError:
                quality.add("untyped-cell", 1, offset)
        return kept

    def _column(self, rows: list[Any], kind: str, names: Sequence[str]) -> tuple[pl.Series, int]:
        convert: Callable[[Sequence[Any]], tuple[pl.Series, int]] = {
            "int": cells.integers,
            "float": cells.floats,
            "text": cells.texts,
            "json": cells.json_texts,
        }[kind]
        series, failed = convert(list(map(attrgetter(names[0]), rows)))
        for name in names[1:]:
            other, more = convert(list(map(attrgetter(name), rows)))
            failed += more
            if other.null_count() < len(other):
                series = series.to_frame("a").select(pl.coalesce(pl.col("a"), other)).to_series()
        return series, failed
