"""Did the devices come to the same, and is it worth anything?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.study.cited import rows, statement
from analyze.study.wording import device, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.study.cited import Row, Tables
    from analyze.study.model import Statement

RULE, QUESTION = "same_results", 6
#: the first loss comes from equal weights and equal images: more than rounding (TF32 on a GPU) means that they were not
ROUNDING = 0.01
#: later losses drift apart as rounding grows with training, and seldom further than this
DRIFT = 0.25


def same_results(tables: Tables) -> Iterator[Statement]:
    """One sentence per batch size on two devices, then one per cell with an accuracy."""
    for found in rows(tables, "agreement"):
        numbers = [name for name in _COMPARED if found[name] is not None]
        yield statement(RULE, QUESTION, _compared(found), found.cite("steps", "steps_compared", *numbers))
    for found in rows(tables, "results", mode="train"):
        if found["accuracy"] is not None:
            text = (
                f"After {found['after_steps']} steps at batch {found['batch_size']} on the {device(found['device'])} "
                f"{percent(found['accuracy'])} of {found['held_out_images']} held-out images are classified rightly "
                f"({percent(found['accuracy_low'])} to {percent(found['accuracy_high'])})."
            )
            numbers = ["after_steps", "accuracy", "accuracy_low", "accuracy_high", "held_out_images"]
            yield statement(RULE, QUESTION, text, found.cite(*numbers))


_COMPARED = ("first_loss_difference", "loss_difference", "accuracy_difference", "accuracy_noise")


def _compared(found: Row) -> str:
    who = f"At batch {found['batch_size']} {device(found['base'])} and {device(found['device'])}"
    first, drift = found["first_loss_difference"], found["loss_difference"]
    if not found["steps_compared"] or first is None or drift is None:
        return f"{who} cannot be compared: no step has a loss on both."
    if first > ROUNDING:
        return f"{who} did not start from the same: their first losses differ by {percent(first)}."
    compared = f"{found['steps_compared']} steps"
    if found["steps_compared"] < found["steps"]:
        compared = f"the {found['steps_compared']} of {found['steps']} steps whose loss both logged"
    text = f"{who} start from the same loss, and it differs by {percent(drift)} over {compared}, "
    text += "as rounding may bring about" if drift <= DRIFT else "more than rounding usually brings about"
    difference, noise = found["accuracy_difference"], found["accuracy_noise"]
    if difference is None or noise is None:
        return f"{text}; their accuracy is not known."
    points, chance = f"{abs(difference) * 100:.1f} points", f"±{noise * 100:.1f}"
    higher = f"{points} {'higher' if difference > 0 else 'lower'} on the {device(found['device'])}"
    if abs(difference) <= noise:
        return f"{text}; accuracy is {higher}, no more than chance with so few held-out images ({chance})."
    return (
        f"{text}; accuracy is {higher}, more than chance with so few held-out images ({chance}). "
        "How far two runs on one device differ was not measured."
    )
