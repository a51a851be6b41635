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
#: with so much of the time spent waiting for input, it is the loading that is measured
HELD_BACK_SHARE = 0.25


def larger_batch(tables: Tables) -> Iterator[Statement]:
    """One sentence per mode, device and pair of neighbouring batch sizes."""
    order = {"train": 0, "cuda": 0}
    for found in sorted(rows(tables, "batch_effect"), key=lambda one: (order.get(one["mode"], 1), order.get(one["device"], 1))):
        numbers = ["throughput_change", "throughput_change_low", "throughput_change_high"]
        text = f"Raising the batch from {found['from_batch']} to {found['to_batch']} in {MODES[found['mode']]} "
        text += f"on the {device(found['device'])} {_gain(found)}"
        held_back = found["input_wait_to_share"] is not None and found["input_wait_to_share"] >= HELD_BACK_SHARE
        if held_back:
            numbers.append("input_wait_to_share")
            text += f", since it then waits for input {percent(found['input_wait_to_share'])} of the time"
            if found["input_wait_from_share"] is not None:
                numbers.append("input_wait_from_share")
                text += f" ({percent(found['input_wait_from_share'])} before)"
        if found["utilisation_from_percent"] is not None and found["utilisation_to_percent"] is not None:
            numbers += ["utilisation_from_percent", "utilisation_to_percent"]
            text += f", utilisation {found['utilisation_from_percent']:.0f} % to {found['utilisation_to_percent']:.0f} %"
        if found["device_memory_change"] is not None:
            numbers.append("device_memory_change")
            text += f", its memory {_change(found['device_memory_change'])}"
        if found["image_energy_change"] is not None:
            numbers += ["image_energy_change", "image_energy_change_low", "image_energy_change_high"]
            text += f", energy an image {_energy(found)}"
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


def _energy(found: Row) -> str:
    change, low, high = (found[f"image_energy_change{end}"] for end in ("", "_low", "_high"))
    bounds = f"{signed_percent(low)} to {signed_percent(high)}"
    return f"the same within its error ({bounds})" if low <= 0 <= high else f"{signed_percent(change)} ({bounds})"


def _change(change: float) -> str:
    return "unchanged" if abs(change) < MEMORY_SHARE else signed_percent(change)
