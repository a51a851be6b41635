"""The best place a trace can name: a source line, else an operator with its shapes, else nothing."""

from __future__ import annotations

import polars as pl

#: shapes beyond this are cut: the operator's name matters more
MAX_SHAPE_TEXT = 80


def place_of(op_id: int | None, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None = None) -> str | None:
    """Source line and operator for an operator id; None where neither is known."""
    if op_id is None:
        return None
    line = _source(op_id, op_sources)
    operator = _operator(op_id, cpu_ops)
    return " · ".join(part for part in (line, operator) if part) or None


def busiest_place(op_ids: pl.Series, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None = None) -> str | None:
    """Place of the operator name that occurs most often among the ids, with how many others there are."""
    if cpu_ops is None or op_ids.drop_nulls().is_empty():
        return None
    mine = cpu_ops.filter(pl.col("id").is_in(op_ids.drop_nulls().to_list()))
    names = mine.group_by("name").agg(pl.len(), pl.col("id").first()).sort("len", descending=True)
    if names.is_empty():
        return None
    line = _source(int(names["id"][0]), op_sources)
    others = f" and {names.height - 1} other operators" if names.height > 1 else ""
    return (f"{line} · " if line else "") + f"{names['name'][0]}{others}"


def _operator(op_id: int, cpu_ops: pl.DataFrame | None) -> str | None:
    if cpu_ops is None:
        return None
    found = cpu_ops.filter(pl.col("id") == op_id)
    if found.is_empty():
        return None
    shapes = str(found["input_shapes"][0] or "")
    return f"{found['name'][0]} {shapes[:MAX_SHAPE_TEXT]}{'…' if len(shapes) > MAX_SHAPE_TEXT else ''}".strip()


def _source(op_id: int, op_sources: pl.DataFrame | None) -> str | None:
    if op_sources is None:
        return None
    found = op_sources.filter(pl.col("id") == op_id)
    return None if found.is_empty() else found["source"][0]
