"""How much work does a step hold by the shapes of its operators?

Unlike the time it takes, that is the same however disturbed the run is.
"""

from __future__ import annotations

import polars as pl

from analyze.analyses._matrix_flops import matrix_flops
from analyze.errors import MissingData
from analyze.schema import Column

COLUMNS = (
    Column("flops_per_step", pl.Float64, "", "operations of matrix products, convolutions and attention; 0 if there are none"),
    Column("bytes_per_step", pl.Float64, "bytes", "inputs and outputs of all operators, each counted once"),
)


def shaped_work(cpu_ops: pl.DataFrame, op_arguments: pl.DataFrame, op_costs: pl.DataFrame) -> pl.DataFrame:
    """One row, a mean over the steps with known shapes; raises MissingData where no operator of a step has them."""
    steps = cpu_ops.select("id", "step").drop_nulls("step")
    streamed = op_costs.join(steps, on="id")
    count = streamed["step"].n_unique()
    if not count:
        raise MissingData("no shapes were recorded within the steps")
    flops = matrix_flops(cpu_ops, op_arguments).drop_nulls("step")
    row = {"flops_per_step": flops["flops"].sum() / count, "bytes_per_step": streamed["streamed_bytes"].sum() / count}
    return pl.DataFrame([row], schema={column.name: column.dtype for column in COLUMNS})
