"""What a study consists of, and what is concluded from it: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

#: what a study is asked, in the order of its answers
QUESTIONS = {
    1: "How busy are CPU and GPU, and what are they waiting for?",
    2: "What does the batch size do?",
    3: "How much power, heat and energy?",
    4: "How long does training take?",
    5: "How fast is inference?",
    6: "Are the results the same?",
    7: "Which operators cost most, and who does the work?",
}
#: rules whose first sentences are the study in short
HEADLINE = ("faster_device", "whole_training", "waiting", "larger_batch", "idle_gpu")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One finished cell: what was recorded, and what the diagnosis made of its profiled steps."""

    name: str
    mode: str
    device: str
    batch_size: int
    manifest: Mapping[str, Any]
    #: columns of `schema.TABLES["step_log"]`
    step_log: pl.DataFrame
    #: columns of `schema.TABLES["telemetry"]`; None where it was not recorded
    telemetry: pl.DataFrame | None = None
    #: metric to why this machine does not tell it
    unsupported: Mapping[str, str] = field(default_factory=dict)
    #: steps profiled without shapes and stacks, of which parts, operators and copies are means; None without a trace
    profiled_steps: int | None = None
    #: UUID of a card to the power in W that it may draw
    power_limits_w: Mapping[str, float] = field(default_factory=dict)
    #: parts of a step in ns, the device's or, without one, the host's; empty without a trace
    parts_ns: Mapping[str, float] = field(default_factory=dict)
    #: operator, host_self_ns, device_self_ns per profiled step; None without a trace
    operators: pl.DataFrame | None = None
    #: mean ns per profiled step of copies from host to device; None without a trace
    copy_to_device_ns: float | None = None
    #: the diagnosis in a sentence
    verdict: str | None = None


@dataclass(frozen=True, kw_only=True)
class CellState:
    """One cell of the matrix, finished or not."""

    name: str
    mode: str
    device: str
    batch_size: int
    #: "done", or what study.json says
    state: str
    #: why it is not used
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number that a sentence rests on, and where it stands."""

    table: str
    row: int
    column: str
    value: float | int | str | None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One sentence of the conclusion."""

    rule: str
    question: int
    text: str
    numbers: tuple[Number, ...]


@dataclass(frozen=True, kw_only=True)
class Study:
    """Everything a study says."""

    source: str
    #: model, sizes and so on, the same for all cells
    options: Mapping[str, Any]
    epochs: int
    images_per_epoch: int
    cells: tuple[CellState, ...]
    #: by name; columns are declared beside the function that makes each
    tables: Mapping[str, pl.DataFrame]
    conclusion: tuple[Statement, ...]
    #: cell, metric, device, seconds, value: for charts
    over_time: pl.DataFrame
    #: what was not measured, and why
    not_known: tuple[str, ...]
    #: diagnosis of each cell in a sentence
    verdicts: Mapping[str, str]

    @property
    def in_short(self) -> tuple[Statement, ...]:
        """The first sentence of each rule that answers what a study is made for."""
        first = {statement.rule: statement for statement in reversed(self.conclusion)}
        return tuple(first[rule] for rule in HEADLINE if rule in first)
