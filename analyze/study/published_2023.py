"""What did the 2023 study find? Its figures, as data, and the place in our tables that each is held against.

Source: D. Gyawali, "Comparative Analysis of CPU and GPU Profiling for Deep Learning Models", 2023, arXiv:2309.02521: a
cats-vs-dogs classifier in PyTorch, one host of 512 GB, two NVIDIA A6000 of which one did the work. Rounded as quoted; where it
says "at most", there is an upper end alone.
"""

# ruff: noqa: RUF001 - dashes of ranges and multiplication signs are meant
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCE = "D. Gyawali, Comparative Analysis of CPU and GPU Profiling for Deep Learning Models, 2023, arXiv:2309.02521"
CAVEAT = "Another model, other images, other machines: the columns show what each measured, not which is better."
GB = 1e9
#: the study's training: what ours is extrapolated to unless asked otherwise
EPOCHS, IMAGES_PER_EPOCH = 20, 25_000


@dataclass(frozen=True, kw_only=True)
class Published:
    """One figure of the study."""

    question: int
    what: str
    device: str
    #: None where the study names none
    batch_size: int | None
    #: as quoted
    text: str
    low: float | None = None
    high: float | None = None
    unit: str
    #: where ours stands: table, column, and what other columns must hold; a value in `unit` is value / divisor
    table: str
    column: str
    where: Mapping[str, object] = field(default_factory=dict)
    divisor: float = 1.0
    #: the column that holds what ours is a part of, as 32 of 512 GB
    total: str | None = None
    #: the interval's columns, where there is one
    bounds: tuple[str, str] | None = None
    #: how the two differ in what they measure
    note: str = ""


_TRAIN = {"mode": "train"}
_GPU0, _GPU1 = {"mode": "train", "part": "GPU 0"}, {"mode": "train", "part": "GPU 1"}


def _whole_training(device: str, text: str, hours: float) -> Published:
    return Published(
        question=4, what=f"{EPOCHS} epochs of {IMAGES_PER_EPOCH:,} images", device=device, batch_size=64,
        text=text, low=hours, high=hours, unit="h",
        table="training_time", column="hours", bounds=("hours_low", "hours_high"),
        note="ours is extrapolated from a short stretch, steps alone",
    )  # fmt: skip


def _one_image(device: str, text: str, low: float, high: float) -> Published:
    return Published(
        question=5, what="inference of one image", device=device, batch_size=None, text=text, low=low, high=high, unit="s",
        table="inference", column="single_image_p50_ms", divisor=1e3,
        note="the study's seems to hold more than the forward pass; ours is one decoded image to its class, median",
    )  # fmt: skip


FIGURES = (
    Published(
        question=1, what="mean GPU utilisation in training", device="cuda", batch_size=64, text="≤ 50 %", high=50, unit="%",
        table="utilisation", column="mean_percent", where=_GPU0,
    ),
    Published(
        question=1, what="mean GPU utilisation in training", device="cuda", batch_size=128, text="≤ 70 %", high=70, unit="%",
        table="utilisation", column="mean_percent", where=_GPU0,
    ),
    Published(
        question=2, what="memory in use on the whole host, GPU training", device="cuda", batch_size=64,
        text="32 of 512 GB", low=32, high=32, unit="GB",
        table="memory", column="host_used_bytes", where=_TRAIN, divisor=GB, total="host_total_bytes",
    ),
    Published(
        question=2, what="GPU:0 memory in use", device="cuda", batch_size=64, text="3.4 GB", low=3.4, high=3.4, unit="GB",
        table="memory", column="device_used_bytes", where=_TRAIN, divisor=GB,
        note="by everything on the card, as its driver counts it",
    ),
    Published(
        question=2, what="GPU:0 memory in use", device="cuda", batch_size=128, text="5 GB", low=5, high=5, unit="GB",
        table="memory", column="device_used_bytes", where=_TRAIN, divisor=GB,
        note="by everything on the card, as its driver counts it",
    ),
    Published(
        question=3, what="GPU:0 temperature", device="cuda", batch_size=64, text="≤ 69 °C", high=69, unit="°C",
        table="energy", column="highest_c", where=_GPU0, note="ours after seconds of load, the study's after hours",
    ),
    Published(
        question=3, what="CPU temperature", device="cpu", batch_size=64, text="60–70 °C", low=60, high=70, unit="°C",
        table="energy", column="highest_c", where={"mode": "train", "part": "CPU"},
        note="ours after seconds of load, the study's after hours",
    ),
    Published(
        question=3, what="mean GPU:0 power", device="cuda", batch_size=64, text="152 of 300 W", low=152, high=152, unit="W",
        table="energy", column="mean_w", where=_GPU0, total="limit_w",
    ),
    Published(
        question=3, what="mean GPU:1 power", device="cuda", batch_size=64, text="23 W", low=23, high=23, unit="W",
        table="energy", column="mean_w", where=_GPU1, note="the study's second card did no work, here there may be none",
    ),
    _whole_training("cpu", "≈ 13 h", 13),
    _whole_training("cuda", "≈ 2 h", 2),
    Published(
        question=4, what="speed-up of training by the GPU", device="cuda", batch_size=64, text="≈ 6.5 (13 h by 2 h)",
        low=6.5, high=6.5, unit="×", table="speed_up", column="speed_up", where=_TRAIN, bounds=("speed_up_low", "speed_up_high"),
        note="of step times",
    ),
    _one_image("cpu", "5 s", 5, 5),
    _one_image("cuda", "2–3 s", 2, 3),
    Published(
        question=6, what="accuracy on images not trained on", device="cuda", batch_size=64, text="98–99 %", low=98, high=99,
        unit="%", table="results", column="accuracy", where=_TRAIN, divisor=0.01, bounds=("accuracy_low", "accuracy_high"),
        note="ours after a few steps on other images, not after 20 epochs",
    ),
)  # fmt: skip
