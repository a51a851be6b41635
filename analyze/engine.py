"""Resolves inputs by name, runs analyses and detectors once each, collects outcomes: the only wiring.

A module of tables, analyses or replay is named like its function; the function's parameters name what it needs.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from analyze import schema
from analyze.errors import MissingData, UnknownName
from analyze.findings.model import Detector, Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PRODUCERS = ("analyze.tables", "analyze.analyses", "analyze.analyses.across_ranks", "analyze.replay")
ACROSS_RANKS = "analyze.analyses.across_ranks"
#: of the replay's files these produce something; the first from one rank, the second from all
REPLAYS = ("replay", "joint_replay")
DETECTORS = "analyze.findings.detectors"
#: inputs of one rank that are not computed from others
SOURCES = (
    *schema.FAMILIES, "trace_info", "data_quality", "telemetry", "step_log", "manifest", "baseline_step_ms", "explained", "rank",
    "telemetry_header",
)  # fmt: skip
#: begins the reason of a detector that failed through a fault of its own; tests hold that no trace provokes one
FAULT = "a fault in the detector itself"
#: what a person would have to record, by source that is missing
WHAT_IS_MISSING = {
    "telemetry": "no telemetry was recorded beside the trace",
    "step_log": "no step log was recorded beside the trace",
    "manifest": "no manifest was recorded beside the trace",
    "baseline_step_ms": "no unprofiled step time is known",
    "telemetry_header": "no telemetry was recorded beside the trace",
    "rank": "the trace does not say which rank it is",
    "explained": "no window with shapes, memory and stacks was recorded",
}


def _modules(package: str) -> list[str]:
    found = pkgutil.iter_modules(import_module(package).__path__)
    return sorted(module.name for module in found if not module.name.startswith("_") and not module.ispkg)


@cache
def producer_modules() -> dict[str, str]:
    """Module by the name of the table or analysis it produces."""
    return {
        name: f"{package}.{name}"
        for package in PRODUCERS
        for name in _modules(package)
        if package != "analyze.replay" or name in REPLAYS
    }


@cache
def across_ranks() -> frozenset[str]:
    """Names of what is made from all ranks together."""
    return frozenset(_modules(ACROSS_RANKS)) | {"joint_replay"}


@cache
def stacked() -> tuple[str, ...]:
    """Names of what is made of each rank for the others to be compared with: small frames, stacked with a column rank."""
    asked = {name for one in across_ranks() for name in inputs(producer(one))}
    return tuple(sorted(asked - across_ranks()))


@cache
def producer(name: str) -> Callable[..., Any]:
    """The function that makes a table or analysis."""
    function: Callable[..., Any] = getattr(import_module(producer_modules()[name]), name)
    return function


@cache
def inputs(function: Callable[..., Any]) -> dict[str, bool]:
    """Names a function asks for, and whether it can do without."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default is not inspect.Parameter.empty for p in parameters}


@cache
def detectors() -> dict[str, tuple[Detector, Callable[..., list[Finding]]]]:
    """Every detector by id, found by walking their package."""
    modules = [import_module(f"{DETECTORS}.{name}") for name in _modules(DETECTORS)]
    return {module.DETECTOR.id: (module.DETECTOR, module.detect) for module in modules}


@cache
def table_names() -> dict[str, tuple[schema.Column, ...]]:
    """Columns of every table and analysis that can be shown or exported, by name."""
    columns = {name: schema.TABLES[name] for name in ("telemetry", "step_log")}
    for name, module in producer_modules().items():
        if name in schema.TABLES:
            columns[name] = schema.TABLES[name]
        elif name not in REPLAYS:
            columns[name] = import_module(module).COLUMNS
    return dict(sorted(columns.items()))


def table_columns(name: str) -> tuple[schema.Column, ...]:
    """Columns of one table or analysis, without importing the others."""
    if name in schema.TABLES:
        return schema.TABLES[name]
    columns: tuple[schema.Column, ...] = import_module(producer_modules()[name]).COLUMNS
    return columns


class Workspace:
    """One rank's results, each computed once, when first asked for; what all ranks give together comes from `together`."""

    def __init__(self, sources: Mapping[str, Any], together: Workspace | None = None, keeping: object = None) -> None:
        self._done: dict[str, Any] = {name: value for name, value in sources.items() if value is not None}
        self._together = together
        #: temporary files behind lazy sources live as long as this
        self._keeping = keeping

    def beside(self, together: Workspace) -> Workspace:
        """The same rank, with its results so far, among others."""
        own = {name: value for name, value in self._done.items() if name not in across_ranks()}
        return Workspace(own, together, self._keeping)

    def get(self, name: str) -> Any:  # noqa: ANN401 - frames, dictionaries and the replay
        """A source, table, analysis or the replay; raises MissingData where this run lacks what it needs."""
        if name not in self._done:
            self._done[name] = self._compute(name)
        result = self._done[name]
        if isinstance(result, MissingData):
            raise result
        return result

    def _compute(self, name: str) -> Any:  # noqa: ANN401
        if name in SOURCES:
            return MissingData(WHAT_IS_MISSING.get(name, f"the recording has no {name}"))
        if name not in producer_modules():
            raise UnknownName(f"nothing is called {name!r}")
        try:
            if name in across_ranks():
                return self._from_all_ranks(name)
            return self.call(producer(name))
        except MissingData as missing:
            return missing

    def _from_all_ranks(self, name: str) -> Any:  # noqa: ANN401
        if self._together is None:
            raise MissingData(self._why_alone())
        return self._together.get(name)

    def _why_alone(self) -> str:
        info, manifest = (self._optional(name) for name in ("trace_info", "manifest"))
        world = (manifest or {}).get("world_size") or (info.world_size if info is not None else None)
        if world is not None and world > 1:
            return f"one of {world} ranks was given: send the others' traces too"
        return "the run has one rank, as far as the trace tells"

    def call(self, function: Callable[..., Any]) -> Any:  # noqa: ANN401
        """Call a function with the inputs it names; what it can do without is None where it is missing."""
        asked = inputs(function).items()
        return function(**{name: self._optional(name) if optional else self.get(name) for name, optional in asked})

    def _optional(self, name: str) -> Any:  # noqa: ANN401
        try:
            return self.get(name)
        except MissingData:
            return None

    def frame(self, name: str) -> pl.DataFrame:
        """A table or analysis as a frame, by name."""
        if name not in table_names():
            close = ", ".join(sorted(table_names(), key=lambda known: _distance(known, name))[:3])
            raise UnknownName(f"no table or analysis is called {name!r}; close names: {close}")
        result = self.get(name)
        return result.collect() if isinstance(result, pl.LazyFrame) else result

    def outcome(self, detector: Detector, detect: Callable[..., list[Finding]]) -> Outcome:
        """Run one detector: found, clear, or skipped with the reason."""
        try:
            findings = tuple(self.call(detect))
        except MissingData as missing:
            return Outcome(detector=detector, state="skipped", reason=str(missing))
        except Exception as error:  # noqa: BLE001 - one detector's fault must not cost the user the others' answers
            return Outcome(detector=detector, state="skipped", reason=f"{FAULT}: {type(error).__name__}: {error}")
        return Outcome(detector=detector, state="found" if findings else "clear", findings=findings)

    def outcomes(self) -> tuple[Outcome, ...]:
        """Outcomes of all detectors."""
        return tuple(self.outcome(detector, detect) for detector, detect in detectors().values())


class Together(Workspace):
    """What all ranks give together: sources are their frames, stacked with a column rank, and why others are missing."""

    def __init__(self, sources: Mapping[str, Any], missing: Mapping[str, str] | None = None) -> None:
        super().__init__(sources)
        self._missing = missing or {}

    def _compute(self, name: str) -> Any:  # noqa: ANN401
        if name not in across_ranks():
            return MissingData(self._missing.get(name, f"no rank has {name}"))
        try:
            return self.call(producer(name))
        except MissingData as missing:
            return missing


def compares_ranks(detect: Callable[..., list[Finding]]) -> bool:
    """Whether a detector asks for something that all ranks give together."""
    return not across_ranks().isdisjoint(inputs(detect))


def _distance(known: str, asked: str) -> int:
    """How little two names share: differing letters, by sets of neighbouring pairs."""
    pairs = [{text[i : i + 2] for i in range(len(text) - 1)} for text in (known, asked)]
    return len(pairs[0] ^ pairs[1])
