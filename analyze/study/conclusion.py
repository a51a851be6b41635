"""What follows from a study's tables, in sentences, and what cannot be said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.rules.answer_time import answer_time
from analyze.study.rules.costly_operators import costly_operators
from analyze.study.rules.energy_use import energy_use
from analyze.study.rules.faster_device import faster_device
from analyze.study.rules.idle_gpu import idle_gpu
from analyze.study.rules.in_use import in_use
from analyze.study.rules.larger_batch import larger_batch
from analyze.study.rules.memory_use import memory_use
from analyze.study.rules.same_results import same_results
from analyze.study.rules.waiting import waiting
from analyze.study.rules.whole_training import whole_training

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyze.study.cited import Tables
    from analyze.study.model import CellState, Measured, Statement

#: in the order in which they are read: what is faster, why not faster still, what to change
RULES = (
    faster_device,
    whole_training,
    in_use,
    waiting,
    larger_batch,
    idle_gpu,
    memory_use,
    energy_use,
    answer_time,
    same_results,
    costly_operators,
)


def conclude(tables: Tables) -> tuple[Statement, ...]:
    """Return every sentence that the tables bear out."""
    return tuple(statement for rule in RULES for statement in rule(tables))


def not_known(states: Sequence[CellState], cells: Sequence[Measured], tables: Tables) -> tuple[str, ...]:
    """Return what was not measured, with the reason where it is known."""
    found = [f"{state.name}: {state.reason or state.state}" for state in states if state.reason or state.state != "done"]
    if not any(cell.device != "cpu" for cell in cells):
        found.append("nothing ran on a GPU: no speed-up, no GPU memory, power or temperature")
    if not any(cell.device == "cpu" for cell in cells):
        found.append("nothing ran on the CPU: no speed-up")
    if not any(cell.mode == "infer" for cell in cells):
        found.append("no inference was recorded")
    if any(cell.telemetry is None for cell in cells):
        found.append("some cells have no telemetry: no utilisation, power, temperature or host memory of theirs")
    reasons = {metric: reason for cell in cells for metric, reason in cell.unsupported.items()}
    energy = tables["energy"]
    if energy.filter(energy["part"] == "CPU").drop_nulls("mean_w").is_empty():
        found.append(f"power and energy of the CPU: {reasons.get('cpu_energy', 'not sampled')}")
    if energy.filter(energy["part"] == "CPU").drop_nulls("highest_c").is_empty():
        found.append(f"temperature of the CPU: {reasons.get('cpu_temperature_c', 'not sampled')}")
    return tuple(found)
