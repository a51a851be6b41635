"""Which line of the user's code ran each operator?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.errors import MissingData
from analyze.matching import match_operators
from analyze.nesting import innermost, nest
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

COLUMNS = (
    Column("id", pl.Int64, "", "operator"),
    Column("source", pl.String, "", "file(line): function of the innermost frame outside libraries"),
)

#: frames of the library, the interpreter and the recorder: the line that matters is the user's
LIBRARY = (
    r"^<|^nn\.Module: |(^|[/\\])(torch|torchvision|torch_\w+|triton|numpy|PIL|contextlib\.py|functools\.py|threading\.py"
    r"|runpy\.py|site-packages|dist-packages|lib[/\\]python3\.\d+|multiprocessing|importlib)([/\\(]|$)"
    # the recorder's own modules, but not the workloads beside them
    r"|(^|[/\\])collect[/\\]\w+\.py\("
)


def op_sources(
    cpu_ops: pl.DataFrame,
    python_calls: pl.DataFrame | None = None,
    explained: Mapping[str, pl.LazyFrame] | None = None,
) -> pl.DataFrame:
    """Source lines from the trace's own stacks, else from the explaining window, matched by order within the step.

    Backward operators get the line of the forward operator with their sequence number.
    """
    if python_calls is not None:
        own = cpu_ops.select("id", "name", "thread", "start_ns", "sequence_number")
        return _with_forward(_lines(own, python_calls)).select("id", "source").drop_nulls("source")
    if explained is None:
        raise MissingData("no stacks were recorded")
    columns = ["id", "name", "thread", "start_ns", "sequence_number"]
    theirs = explained["op_events"].drop_nulls("dur_ns").select(columns).sort("start_ns").collect()
    calls = explained["python_events"].drop_nulls("dur_ns").select("name", "thread", "start_ns", "dur_ns").collect()
    if theirs.is_empty() or calls.is_empty():
        raise MissingData("the explaining window holds no stacks")
    told = _with_forward(_lines(theirs, calls)).select(explained_id="id", source="source").drop_nulls("source")
    return match_operators(cpu_ops, explained).join(told, on="explained_id").select("id", "source")


def _lines(operators: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Add `source`: the innermost user frame around each operator's start; null where there is none."""
    frames = calls.filter(~pl.col("name").cast(pl.String).str.contains(LIBRARY)).sort("start_ns")
    if frames.is_empty():
        return operators.with_columns(source=pl.lit(None, dtype=pl.String))
    lanes = pl.concat([frames.select("thread"), operators.select("thread")]).unique(maintain_order=True).with_row_index("lane")

    def lane_of(frame: pl.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        joined = frame.select("thread").join(lanes, on="thread", how="left", maintain_order="left", nulls_equal=True)
        lane: np.ndarray[tuple[int], np.dtype[np.int64]] = joined["lane"].cast(pl.Int64).to_numpy()
        return lane

    nesting = nest(lane_of(frames), frames["start_ns"].to_numpy(), frames["dur_ns"].to_numpy())
    row = pl.Series(innermost(nesting, lane_of(operators), operators["start_ns"].to_numpy()))
    names = frames["name"].cast(pl.String).gather(row.clip(lower_bound=0))
    return operators.with_columns(source=names.zip_with(row >= 0, pl.Series([None], dtype=pl.String)))


def _with_forward(told: pl.DataFrame) -> pl.DataFrame:
    """Fill in the forward operator's line where an operator has none of its own but shares its sequence number."""
    forward = (
        told.drop_nulls(["source", "sequence_number"])
        .unique("sequence_number", keep="first", maintain_order=True)
        .select("sequence_number", forward="source")
    )
    return told.join(forward, on="sequence_number", how="left", maintain_order="left").with_columns(
        source=pl.coalesce("source", "forward")
    )
