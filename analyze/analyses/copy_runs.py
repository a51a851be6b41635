"""Which copies follow each other with no kernel launched in between?"""

from __future__ import annotations

import polars as pl

from analyze.schema import Column

COLUMNS = (
    Column("run", pl.Int64, "", "number of the run, in order"),
    Column("step", pl.Int64, "", "step in which it begins"),
    Column("direction", pl.String, "", "host-to-device, device-to-host …"),
    Column("count", pl.Int64, "", "copies"),
    Column("bytes", pl.Int64, "bytes", "bytes moved"),
    Column("largest_bytes", pl.Int64, "bytes", "largest copy"),
    Column("pageable", pl.Boolean, "", "any of them from or to pageable memory"),
    Column("dur_ns", pl.Int64, "ns", "summed device time"),
    Column("first_copy_id", pl.Int64, "", "first copy"),
    Column("copy_ids", pl.List(pl.Int64), "", "all copies"),
    Column("start_ns", pl.Int64, "ns", "start of the first copy's top-level operator or call"),
    Column("first_end_ns", pl.Int64, "ns", "end of that operator or call"),
    Column("end_ns", pl.Int64, "ns", "end of the last copy's top-level operator or call"),
    Column("before_ns", pl.Int64, "ns", "end of the launching call before the run; null at the beginning"),
    Column("after_ns", pl.Int64, "ns", "start of the launching call after the run; null at the end"),
)


def copy_runs(copies: pl.DataFrame, launches: pl.DataFrame, op_roots: pl.DataFrame | None = None) -> pl.DataFrame:
    """Runs of copies in one direction and step by launch order; whatever else is launched, a memset too, ends a run.

    What a collective on the host copies is left out.
    """
    calls = launches.filter(pl.col("work_count") > 0).sort("start_ns").select("id", "op_id", "start_ns", "dur_ns")
    own = copies.filter(~pl.col("for_exchange").fill_null(value=False))
    mine = own.drop_nulls("launch_id").unique("launch_id", keep="first", maintain_order=True)
    kind = mine.select(
        "bytes", "step", "launch_id", "host_memory", direction=pl.col("direction").cast(pl.String), copy_id="id", copy_ns="dur_ns"
    )
    ordered = calls.join(kind, left_on="id", right_on="launch_id", how="left", maintain_order="left")
    if op_roots is None:
        roots = pl.DataFrame(schema={"op_id": pl.Int64, "root_start": pl.Int64, "root_dur": pl.Int64})
    else:
        roots = op_roots.select(op_id="id", root_start="start_ns", root_dur="dur_ns")
    end = pl.col("start_ns") + pl.col("dur_ns")
    return (
        ordered.join(roots, on="op_id", how="left", maintain_order="left")
        .with_columns(
            run=pl.struct(pl.col("direction").fill_null(""), "step").rle_id().cast(pl.Int64),
            before=end.shift(1),
            after=pl.col("start_ns").shift(-1),
            op_start=pl.coalesce("root_start", "start_ns"),
            op_end=pl.coalesce(pl.col("root_start") + pl.col("root_dur"), end),
        )
        .drop_nulls("direction")
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("step").first(),
            pl.col("direction").first(),
            count=pl.len().cast(pl.Int64),
            bytes=pl.col("bytes").sum(),
            largest_bytes=pl.col("bytes").max(),
            pageable=(pl.col("host_memory").cast(pl.String) == "pageable").any(),
            dur_ns=pl.col("copy_ns").sum(),
            first_copy_id=pl.col("copy_id").first(),
            copy_ids=pl.col("copy_id"),
            start_ns=pl.col("op_start").first(),
            first_end_ns=pl.col("op_end").first(),
            end_ns=pl.col("op_end").last(),
            before_ns=pl.col("before").first(),
            after_ns=pl.col("after").last(),
        )
        .select(column.name for column in COLUMNS)
    )
