"""What does raising the batch give, and what does it cost?"""

# ruff: noqa: RUF001 - multiplication signs and dashes are meant
from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import MODES, device, percent, signed_percent, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "larger_batch", 2
#: a change in memory below this is not worth a word
MEMORY_SHARE = 0.02


def larger_batch(tables: Tables) -> Iterator[Statement]:
    """One sentence per mode, device and pair of neighbouring batch sizes."""
    order = {"train": 0, "cuda": 0}
    for found in sorted(rows(tables, "batch_effect"), key=lambda one: (order.get(one["mode"], 1), order.get(one["device"], 1))):
        numbers = ["throughput_change", "throughput_change_low", "throughput_change_high"]
        text = f"Raising the batch from {found['from_batch']} to {found['to_batch']} in {MODES[found['mode']]} "
        text += f"on the {device(found['device'])} {_gain(found)}"
        if found["utilisation_from_percent"] is not None and found["utilisation_to_percent"] is not None:
            numbers += ["utilisation_from_percent", "utilisation_to_percent"]
            text += f", utilisation {found['utilisation_from_percent']:.0f} % to {found['utilisation_to_percent']:.0f} %"
        for column, what in (("device_memory_change", "its memory"), ("image_energy_change", "energy an image")):
            if found[column] is not None:
                numbers.append(column)
                text += f", {what} {_change(found[column])}"
        yield statement(RULE, QUESTION, f"{text}.", found.cite(*numbers))


def _gain(found: Row) -> str:
    change, low, high = (found[f"throughput_change{end}"] for end in ("", "_low", "_high"))
    if low is None or high is None:
        return f"changes images a second by {signed_percent(change)}, from too few steps to say how sure"
    bounds = f"{signed_percent(low)} to {signed_percent(high)}"
    if low <= 0 <= high:
        return f"gives nothing that can be told from noise ({bounds} images a second)"
    if change < 0:
        return f"costs {percent(-change)} of the images a second ({bounds})"
    if change >= 1:
        return f"gives {times(1 + change)}× the images a second ({times(1 + low)}–{times(1 + high)}×)"
    return f"gives {percent(change)} more images a second ({bounds})"


def _change(change: float) -> str:
    return "unchanged" if abs(change) < MEMORY_SHARE else signed_percent(change)
