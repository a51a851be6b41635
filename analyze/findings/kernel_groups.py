"""Kernels summed up by operator for evidence, and single rates out of device_rates."""

from __future__ import annotations

import polars as pl

from analyze.scalars import number_or_none

#: share of the memory bandwidth that plain passes reach, where a trace does not show it
MEMORY_EFFICIENCY = 0.8
#: rows of evidence
MOST_ROWS = 20


def heaviest_operators(kernels: pl.DataFrame, steps: int) -> pl.DataFrame:
    """Rows of kernel_arithmetic by operator, shapes and kernel, heaviest first; a row per group with one op_id for its place."""
    return (
        kernels.group_by("op", "input_shapes", "name", maintain_order=True)
        .agg(
            calls_per_step=pl.len() / steps,
            dur_per_step_ns=pl.col("dur_ns").sum() / steps,
            tflops_per_s=pl.when(pl.col("flops").is_not_null().any()).then(pl.col("flops").sum() / pl.col("dur_ns").sum() / 1e3),
            step=pl.col("step").first(),
            start_ns=pl.col("start_ns").first(),
            op_id=pl.col("op_id").first(),
        )
        .sort("dur_per_step_ns", descending=True, maintain_order=True)
        .head(MOST_ROWS)
    )


def peak(device_rates: pl.DataFrame, what: str) -> float | None:
    """Vendor's rate of a precision, or of memory; None where unknown."""
    return _cell(device_rates, what, "peak_per_s")


def reached(device_rates: pl.DataFrame, what: str) -> float | None:
    """Rate that this trace reaches, never above the peak; None where it shows none."""
    seen, most = _cell(device_rates, what, "reached_per_s"), peak(device_rates, what)
    return min(seen, most) if seen is not None and most is not None else seen


def memory_rate(device_rates: pl.DataFrame) -> float | None:
    """Bytes per second that passes over memory reach: in this trace, else usually; None where the device is unknown too."""
    most = peak(device_rates, "memory")
    return reached(device_rates, "memory") or (most * MEMORY_EFFICIENCY if most else None)


def _cell(device_rates: pl.DataFrame, what: str, column: str) -> float | None:
    row = device_rates.filter(pl.col("what") == what)
    return None if row.is_empty() else number_or_none(row[column][0])
