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


def place_of_copy(
    copy_id: int, copies: pl.DataFrame, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None = None
) -> str | None:
    """Place of the operator that started a copy."""
    return place_of(copies.filter(pl.col("id") == copy_id)["op_id"][0], cpu_ops, op_sources)


def busiest_place(op_ids: pl.Series, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None = None) -> str | None:
    """Place of the operator name that occurs most often among the ids, with how many others there are."""
    if cpu_ops is None or op_ids.drop_nulls().is_empty():
        return None
    mine = cpu_ops.filter(pl.col("id").is_in(op_ids.drop_nulls().to_list()))
    names = (
        mine.group_by("name", maintain_order=True)
        .agg(pl.len(), pl.col("id").first())
        .sort("len", descending=True, maintain_order=True)
    )
    if names.is_empty():
        return None
    line = _source(int(names["id"][0]), op_sources)
    others = f" and {names.height - 1} other operators" if names.height > 1 else ""
    return (f"{line} · " if line else "") + f"{names['name'][0]}{others}"


def costliest_place(costs: pl.DataFrame, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None, of: str) -> str | None:
    """Line and operator name with the largest summed cost_ns, and its share `of` what; costs has op_id and cost_ns."""
    known = with_places(costs.drop_nulls("op_id"), cpu_ops, op_sources).drop_nulls("op")
    if known.is_empty():
        return None
    summed = (
        known.group_by("source", "op", maintain_order=True)
        .agg(pl.col("cost_ns").sum())
        .sort("cost_ns", "op", descending=True, maintain_order=True)
    )
    line, name, cost = summed.row(0)
    place = " · ".join(part for part in (line, name) if part)
    return f"{place} ({cost / max(costs['cost_ns'].sum(), 1):.0%} of {of})" if summed.height > 1 else place


def with_places(evidence: pl.DataFrame, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None = None) -> pl.DataFrame:
    """The evidence with the name and the source line of its op_id as columns op and source; null where unknown."""
    nothing = pl.DataFrame(schema={"op_id": pl.Int64, "op": pl.String, "source": pl.String})
    names, lines = nothing.select("op_id", "op"), nothing.select("op_id", "source")
    wanted = evidence.select("op_id").unique()
    if cpu_ops is not None:
        names = cpu_ops.select(op_id="id", op=pl.col("name").cast(pl.String)).join(wanted, on="op_id", how="semi")
    if op_sources is not None:
        lines = op_sources.select(op_id="id", source="source").join(wanted, on="op_id", how="semi")
    return evidence.join(names, on="op_id", how="left", maintain_order="left").join(
        lines, on="op_id", how="left", maintain_order="left"
    )


def runs_with_places(
    runs: pl.DataFrame, copies: pl.DataFrame, cpu_ops: pl.DataFrame | None, op_sources: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Rows of copy_runs as evidence, without the copies' ids, with operator and source line of each run's first copy."""
    started = copies.select("op_id", first_copy_id="id")
    evidence = runs.drop("copy_ids").join(started, on="first_copy_id", how="left", maintain_order="left")
    return with_places(evidence, cpu_ops, op_sources)


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
