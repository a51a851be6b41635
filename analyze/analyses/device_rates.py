"""How fast could the device compute and move data, and how fast does this trace's own work get there?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from analyze.hardware import find
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.trace_info import TraceInfo

COLUMNS = (
    Column("what", pl.String, "", "a precision (fp64, fp32, tf32, bf16, fp16, fp8, int8), or memory"),
    Column(
        "peak_per_s", pl.Float64, "1/s", "vendor's figure: operations, or bytes of memory; null where the device is not known"
    ),
    Column("reached_per_s", pl.Float64, "1/s", "rate of the faster half of this trace's work of that kind; null without any"),
    Column("work_ns", pl.Int64, "ns", "kernel time that the reached rate is taken from"),
)

PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8")
#: kernels shorter than this are mostly start and end
LONG_KERNEL_NS = 20_000
#: kernels that do nothing but pass over memory
PASSING_KINDS = ("elementwise", "copy")
#: passes over fewer bytes than this stay in the cache and say nothing about memory
LARGE_PASS_BYTES = 64e6


def device_rates(
    trace_info: TraceInfo, kernel_arithmetic: pl.DataFrame, manifest: Mapping[str, Any] | None = None
) -> pl.DataFrame:
    """One row per precision and one for memory, for the first device."""
    hardware = find(_device_name(trace_info, manifest))
    long = kernel_arithmetic.filter(pl.col("dur_ns") >= LONG_KERNEL_NS)
    # multiplications in single precision that run on matrix units round to tf32
    precision = (
        pl.when((pl.col("precision") == "fp32") & pl.col("tensor_core")).then(pl.lit("tf32")).otherwise(pl.col("precision"))
    )
    work = pl.concat(
        [
            long.filter(pl.col("flops").is_not_null()).select(what=precision, amount="flops", dur_ns="dur_ns"),
            long.filter(pl.col("kind").cast(pl.String).is_in(PASSING_KINDS), pl.col("bytes") >= LARGE_PASS_BYTES).select(
                what=pl.lit("memory"), amount="bytes", dur_ns="dur_ns"
            ),
        ]
    )
    peaks = [*(hardware.peak(p) if hardware else None for p in PRECISIONS), hardware.memory_bytes_per_s if hardware else None]
    rows = pl.DataFrame({"what": [*PRECISIONS, "memory"], "peak_per_s": peaks}, schema_overrides={"peak_per_s": pl.Float64})
    return rows.join(_reached(work), on="what", how="left", maintain_order="left").select(c.name for c in COLUMNS)


def _device_name(trace_info: TraceInfo, manifest: Mapping[str, Any] | None) -> str | None:
    named = [device.name for device in trace_info.devices if device.name]
    named += [str(device["name"]) for device in (manifest or {}).get("devices") or [] if device.get("name")]
    return named[0] if named else None


def _reached(work: pl.DataFrame) -> pl.DataFrame:
    """Rate of the faster half of the time, by kind: the slower half is held up by shapes."""
    rate = pl.col("amount") / pl.col("dur_ns") * 1e9
    ranked = work.with_columns(rate=rate).sort("rate", descending=True)
    before = pl.col("dur_ns").cum_sum().over("what") - pl.col("dur_ns")
    faster = ranked.filter(before < pl.col("dur_ns").sum().over("what") / 2)
    return faster.group_by("what").agg(
        reached_per_s=pl.col("amount").sum() / pl.col("dur_ns").sum() * 1e9, work_ns=pl.col("dur_ns").sum()
    )
