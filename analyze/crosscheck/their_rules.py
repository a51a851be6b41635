"""HTA's known departures, each as a change of what is looked at: where one brings our figure to HTA's, it is the reason.

A rule returns None where nothing in the trace is touched by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from analyze.crosscheck.our_figures import KNOWN_LAUNCHES
from analyze.crosscheck.view import WORK, View, cutoff_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.engine import Workspace

US = 1_000
#: hta.utils.utils of release 0.5.0: the patterns by which it sorts device work
COMMUNICATION = r"^nccl.*Kernel"
MEMORY = r"^(Memcpy|Memset|dma)"
NO_COMPUTATION = r"^(nccl.*Kernel|.*Memcpy|Memset|.*Sync)"


class Rule(NamedTuple):
    """What HTA does otherwise, in words with the trace's own numbers, and the view with it applied."""

    reason: str
    view: View


def rules(view: View, workspace: Workspace) -> list[Callable[[View], Rule | None]]:
    """Every rule, in the order in which HTA applies them."""
    has_fractions = _has_fractions(view)
    base_ns = workspace.get("trace_info").base_time_ns or 0
    return [
        lambda seen: _syncs(seen, workspace),
        lambda seen: _operators_as_kernels(seen, workspace),
        _merged_devices,
        _types_by_name,
        lambda seen: _whole_microseconds(seen, base_ns) if has_fractions else None,
        _previous_row,
        _known_launches,
    ]


def written_in_whole_microseconds(view: View) -> bool:
    """Whether the writer rounded all times, so that rates computed from them are rough."""
    return not _has_fractions(view)


def _has_fractions(view: View) -> bool:
    """Whether times are written with fractions of a microsecond: only then does HTA round."""
    frames = [view.work, view.launches]
    return any(frame.select(((pl.col("start_ns") % US != 0) | (pl.col("dur_ns") % US != 0)).any()).item() for frame in frames)


def _syncs(view: View, workspace: Workspace) -> Rule | None:
    records: pl.DataFrame = workspace.get("sync_events").filter(pl.col("stream") != -1).drop_nulls("dur_ns").collect()
    before = cutoff_ns(workspace)
    if before is not None:
        calls = view.launches.drop_nulls("correlation").select("correlation")
        records = records.join(calls, on="correlation", how="semi")
    if records.is_empty():
        return None
    computation = pl.col("name").cast(pl.String).str.contains(NO_COMPUTATION)
    rows = records.with_columns(
        role=pl.when(computation).then(pl.lit("other")).otherwise(pl.lit("compute")),
        bytes_per_ns=pl.lit(None, dtype=pl.Float64),
        launch_id=pl.lit(None, dtype=pl.Int64),
    )
    more = pl.concat([view.work, rows.select(list(WORK))]).sort("start_ns", maintain_order=True)
    return Rule(f"HTA takes {records.height} synchronisation records for device work", replace(view, work=more))


def _operators_as_kernels(view: View, workspace: Workspace) -> Rule | None:
    before = cutoff_ns(workspace)
    operators = workspace.get("op_events").drop_nulls("dur_ns").collect()
    if before is not None:
        operators = operators.filter(pl.col("start_ns") < before)
    kernels = view.work["name"].cast(pl.String).unique().implode()
    name = pl.col("name").cast(pl.String)
    # Inductor numbers the calls of a user's own Triton kernel
    named = operators.filter(name.is_in(kernels) | name.str.replace(r"_\d+$", "").is_in(kernels))
    if named.is_empty():
        return None
    nothing = pl.lit(None, dtype=pl.Int64)
    rows = named.with_columns(
        role=pl.lit("compute"),
        bytes_per_ns=nothing.cast(pl.Float64),
        launch_id=nothing,
        device=nothing,
        stream=pl.lit(view.work["stream"].mode()[0], dtype=pl.Int64),
    )
    more = pl.concat([view.work, rows.select(list(WORK))]).sort("start_ns", maintain_order=True)
    reason = f"HTA takes {named.height} host operators that carry a stream and a kernel's name (Triton) for kernels"
    return Rule(reason, replace(view, work=more))


def _merged_devices(view: View) -> Rule | None:
    devices = view.work["device"].drop_nulls().n_unique()
    if devices < 2 and not (devices and view.work["device"].null_count()):  # noqa: PLR2004 - more than one
        return None
    merged = view.work.with_columns(device=pl.lit(0, dtype=pl.Int64))
    return Rule(f"HTA merges the streams of {devices} devices", replace(view, work=merged))


def _types_by_name(view: View) -> Rule | None:
    name = pl.col("name").cast(pl.String)
    role = (
        pl.when(name.str.contains(COMMUNICATION))
        .then(pl.lit("communication"))
        .when(name.str.contains(MEMORY))
        .then(pl.lit("copy"))
        .when(name.str.contains(NO_COMPUTATION))
        .then(pl.lit("other"))
        .otherwise(pl.lit("compute"))
    )
    sorted_by_name = view.work.with_columns(theirs=role)
    moved = sorted_by_name.filter(pl.col("theirs") != pl.col("role"))
    if moved.is_empty():
        return None
    example = str(moved["name"][0])[:60]
    reason = f"HTA sorts {moved.height} items otherwise by their names ({example}: {moved['theirs'][0]}, ours {moved['role'][0]})"
    return Rule(reason, replace(view, work=sorted_by_name.with_columns(role="theirs").drop("theirs")))


def _whole_microseconds(view: View, base_ns: int) -> Rule | None:
    """Starts rounded up, ends rounded down, from floats: what is shorter than a microsecond may get a negative duration."""

    def rounded(frame: pl.DataFrame) -> pl.DataFrame:
        start, dur = _microseconds(pl.col("start_ns") - base_ns), _microseconds(pl.col("dur_ns"))
        begin, end = start.ceil().cast(pl.Int64), (start + dur).floor().cast(pl.Int64)
        return frame.with_columns(start_ns=begin * US + base_ns, dur_ns=(end - begin) * US)

    changed = replace(
        view,
        work=rounded(view.work),
        launches=rounded(view.launches),
        annotations=rounded(view.annotations),
        inverted_spans_count=True,
    )
    return Rule("HTA rounds every start up and every end down to whole microseconds", changed)


def _microseconds(nanoseconds: pl.Expr) -> pl.Expr:
    """The float that HTA reads: times since 1970 keep a quarter of a microsecond."""
    return (nanoseconds // US).cast(pl.Float64) + (nanoseconds % US) / US


def _previous_row(view: View) -> Rule | None:
    reason = "HTA counts a gap from the end of the row before, even where an earlier row runs longer, and negative ones too"
    return Rule(reason, replace(view, gaps_from_previous_row=True))


def _known_launches(view: View) -> Rule | None:
    launching = view.launches.filter(pl.col("work_count") > 0)
    unknown = launching.filter(~pl.col("name").cast(pl.String).is_in(KNOWN_LAUNCHES))
    if unknown.is_empty():
        return None
    names = ", ".join(sorted(set(unknown["name"].cast(pl.String).to_list())))
    reason = f"HTA knows few calls that start work ({', '.join(KNOWN_LAUNCHES[:4])} …) and misses {unknown.height} of {names}"
    return Rule(reason, replace(view, known_launches_only=True))
