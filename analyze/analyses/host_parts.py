"""Where does the step go on a run without a device: input wait, forward, backward, optimizer, other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.intervals import merge, of_frame, subtract, total
from analyze.schema import Column

if TYPE_CHECKING:
    from analyze.intervals import Spans

COLUMNS = (
    Column("part", pl.String, "", "input_wait, optimizer, backward, forward, other"),
    Column("ns", pl.Float64, "ns", "mean per profiled step"),
)


def host_parts(
    steps: pl.DataFrame,
    cpu_ops: pl.DataFrame,
    annotations: pl.DataFrame | None = None,
    input_wait: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Union of host time by phase; an instant belongs to the first phase that claims it, and parts add up to the step."""
    if steps.is_empty():
        raise MissingData("the trace has no steps")
    name = pl.col("name").cast(pl.String)
    nothing = merge([], [])
    optimizer, loading = nothing, nothing
    if annotations is not None:
        optimizer = of_frame(annotations.filter(~pl.col("on_device"), name.str.contains(r"^Optimizer\.(step|zero_grad)#")))
    if input_wait is not None:
        loading = of_frame(input_wait)
    claims = (
        ("input_wait", loading),
        ("optimizer", optimizer),
        ("backward", of_frame(cpu_ops.filter(name.str.starts_with("autograd::engine::evaluate_function")))),
        ("forward", of_frame(cpu_ops.filter(pl.col("depth") == 0))),
    )
    inside = merge(steps["start_ns"].to_numpy(), (steps["start_ns"] + steps["dur_ns"]).to_numpy())
    window: Spans = inside
    parts: dict[str, float] = {}
    for part, spans in claims:
        left = subtract(window, spans)
        parts[part] = float(total(window) - total(left)) / steps.height
        window = left
    parts["other"] = float(total(window)) / steps.height
    return pl.DataFrame({"part": list(parts), "ns": list(parts.values())}, schema={c.name: c.dtype for c in COLUMNS})
