"""Where do both tools agree, and what explains it where they do not?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.crosscheck.our_figures import our_figures, queue_bounds, rate_bounds
from analyze.crosscheck.their_figures import their_figures
from analyze.crosscheck.their_rules import rules, written_in_whole_microseconds
from analyze.crosscheck.view import view_of
from analyze.engine import Workspace
from analyze.errors import InputError, MissingData
from analyze.schema import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from analyze.crosscheck.figure import Figure
    from analyze.crosscheck.view import View
    from analyze.ingest import Trace

COLUMNS = (
    Column("question", pl.String, "", "what was asked"),
    Column("rank", pl.Int64, "", "rank; null where unknown"),
    Column("name", pl.String, "", "of what: a part, a kernel, a stream"),
    Column("unit", pl.String, "", "unit of both figures"),
    Column("ours", pl.Float64, "by unit", "our figure; null where only HTA gives one"),
    Column("hta", pl.Float64, "by unit", "HTA's figure; null where it gives none"),
    Column("difference", pl.Float64, "", "relative to HTA's; null where either is missing"),
    Column("agrees", pl.Boolean, "", "equal within TOLERANCE"),
    Column("explanation", pl.String, "", "why not, decided from the trace; null where they agree, or nothing explains it"),
)

#: agreement within a tenth of a percent, or within the last digit that HTA prints
TOLERANCE = 0.001
LAST_DIGIT = {"us": 1.0, "%": 0.01, "GB/s": 1e-6, "": 0.0}
READABLE = (".json", ".json.gz", ".gz")
#: names that HTA keeps before it folds the rest, and with them changes what it says about those it keeps
FOLDED_ABOVE = 10


def crosscheck(traces: Sequence[Trace]) -> pl.DataFrame:
    """Every figure of every trace side by side. Raises MissingData where HTA is not installed.

    HTA 0.5.0 runs as it does by default: it leaves the last step out, so both tools look at the steps before.
    """
    rows: list[tuple[object, ...]] = []
    for trace in traces:
        if not trace.path.endswith(READABLE):
            raise InputError(f"{trace.name}: HTA reads .json and .json.gz files only")
        rows += [(row[0], trace.rank, *row[1:]) for row in _compare(trace)]
    return pl.DataFrame(rows, schema={column.name: column.dtype for column in COLUMNS}, orient="row")


def _compare(trace: Trace) -> Iterator[tuple[object, ...]]:
    theirs = {(figure.question, figure.name): figure for figure in their_figures(trace.path)}
    workspace = Workspace({**trace.frames, "trace_info": trace.info, "data_quality": trace.data_quality})
    try:
        view = view_of(workspace)
    except MissingData:
        return
    ours = _by_key(our_figures(view))
    # its longest launches are those of its ten dearest names: no reason to list the rest of ours
    keys = [key for key in dict.fromkeys([*theirs, *ours]) if key in theirs or key[0] != "kernel longest"]
    emulated = _Emulated(view, workspace, ours)
    for key in keys:
        question, name = key
        mine, hta = ours.get(key), theirs.get(key)
        unit = (mine or hta).unit  # type: ignore[union-attr]
        left, right = (None if figure is None else figure.value for figure in (mine, hta))
        agrees = _same(left, right, unit)
        relative = (left - right) / abs(right) if left is not None and right else None
        why = None if agrees else emulated.explain(key, left, right, unit)
        yield question, name, unit, left, right, relative, agrees, why


def _by_key(figures: list[Figure]) -> dict[tuple[str, str], Figure]:
    return {(figure.question, figure.name): figure for figure in figures}


def _same(left: float | None, right: float | None, unit: str) -> bool:
    """Equal within the tolerance; a figure that one tool leaves out is taken for 0, which both leave out too."""
    first, second = left or 0.0, right or 0.0
    return abs(first - second) <= max(TOLERANCE * abs(second), LAST_DIGIT[unit])


class _Emulated:
    """Our figures under HTA's rules: all together to see whether they account for a difference, and one by one to say which."""

    def __init__(self, view: View, workspace: Workspace, ours: Mapping[tuple[str, str], Figure]) -> None:
        self.ours = ours
        self.alone: list[tuple[str, dict[tuple[str, str], Figure]]] = []
        together = view
        for rule in rules(view, workspace):
            by_itself, on_top = rule(view), rule(together)
            if by_itself is not None and on_top is not None:
                self.alone.append((by_itself.reason, _by_key(our_figures(by_itself.view))))
                together = on_top.view
        self.together = _by_key(our_figures(together))
        self.rough_rates = written_in_whole_microseconds(view)
        self.bounds = {("queue length", name): each for name, each in queue_bounds(together).items()}
        self.bounds |= {("copy bandwidth", name): each for name, each in rate_bounds(together).items()}
        self.names = len({name for question, name in self.together if question == "kernel total"})

    def explain(self, key: tuple[str, str], left: float | None, right: float | None, unit: str) -> str | None:
        """The rules that move this figure, if all of them together bring it to HTA's; None where they do not."""
        question, name = key
        emulated = self._value(self.together, key)
        if question == "kernel longest" and self.names > FOLDED_ABOVE:
            total = self._value(self.together, ("kernel total", name))
            if _same(total, right, unit):
                return f"HTA folds {self.names} names to {FOLDED_ABOVE} and then gives every name's total as its longest launch"
        if right is None and question in ("launches", "queue length", "idle by stream") and emulated is None:
            return self._moved_by(key, left, unit)
        if question == "copy bandwidth" and self.rough_rates and left is not None and right is not None:
            return "the trace gives durations in whole microseconds only; HTA takes the rate that the profiler wrote beside them"
        if not _same(emulated, right, unit):
            return self._order_left_open(key, right)
        return self._moved_by(key, left, unit)

    def _order_left_open(self, key: tuple[str, str], right: float | None) -> str | None:
        low, high = self.bounds.get(key, (1.0, 0.0))
        if right is None or not low * (1 - TOLERANCE) <= right <= high * (1 + TOLERANCE):
            return None
        return "HTA's sort leaves the order of simultaneous changes open, and its mean counts each change"

    def _moved_by(self, key: tuple[str, str], left: float | None, unit: str) -> str | None:
        moved = [reason for reason, figures in self.alone if not _same(self._value(figures, key), left, unit)]
        return "; ".join(moved) or None

    @staticmethod
    def _value(figures: Mapping[tuple[str, str], Figure], key: tuple[str, str]) -> float | None:
        figure = figures.get(key)
        return None if figure is None else figure.value
