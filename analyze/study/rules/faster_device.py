"""Which device is faster, by how much, and is that more than noise?"""

# ruff: noqa: RUF001 - the multiplication sign is meant
from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import MODES, device, percent, span, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "faster_device", {"train": 4, "infer": 5}
#: a device that waits for input for so much of its time is faster than its step times show
HELD_BACK_SHARE = 0.1


def faster_device(tables: Tables) -> Iterator[Statement]:
    """One sentence per mode and batch size that ran on both."""
    for found in rows(tables, "speed_up"):
        text, numbers = _sentence(found), ["speed_up", "speed_up_low", "speed_up_high"]
        share, work = found["input_wait_share"], found["work_speed_up"]
        if share is not None and work is not None and share >= HELD_BACK_SHARE:
            numbers += ["input_wait_share", "work_speed_up"]
            text += f" The {device(found['device'])} waits for input {percent(share)} of the time; "
            text += f"less such waits its steps are {times(work)}× as fast as the {device(found['base'])}'s."
        yield statement(RULE, QUESTION[found["mode"]], text, found.cite(*numbers))


def _sentence(found: Row) -> str:
    factor, low, high = found["speed_up"], found["speed_up_low"], found["speed_up_high"]
    what = f"{MODES[found['mode']]} at batch {found['batch_size']}"
    fast, slow = device(found["device"]), device(found["base"])
    if low is None or high is None:
        return (
            f"{what.capitalize()}: {times(factor)}× as fast on the {fast} as on the {slow}, from too few steps to say how sure."
        )
    if low <= 1 <= high:
        return f"{what.capitalize()}: no difference between {fast} and {slow} can be told ({span(low, high, '{:.2f}')}×)."
    if factor < 1:
        factor, low, high, fast, slow = 1 / factor, 1 / high, 1 / low, slow, fast
    return f"For {what} the {fast} is {times(factor)}× faster than the {slow} ({times(low)}–{times(high)})."
