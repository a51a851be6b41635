"""How are a study's numbers written in a sentence?"""

# ruff: noqa: RUF001, RUF002 - dashes and minus signs are meant
from __future__ import annotations

import math

DEVICES = {"cpu": "CPU", "cuda": "GPU"}
MODES = {"train": "training", "infer": "inference"}
#: how a sentence goes on after 'for 45 % of the step it'
CAUSES = {
    "idle_input_wait": "waits for input",
    "idle_launch": "waits for launches",
    "idle_blocking_copy": "waits for copies",
    "idle_synchronisation": "waits for the host to synchronise",
    "idle_allocation": "waits for memory to be allocated",
    "exposed_copy": "copies with nothing to hide behind",
    "exposed_communication": "communicates with nothing to hide behind",
}
#: parts of a step whose cause nothing tells
UNKNOWN_CAUSES = ("idle_other", "unexplained")
#: an hour and a half says less than its 90 minutes
MINUTES_BELOW_H = 2.0
SECONDS_BELOW_H = 1 / 60
#: where one more digit would say nothing
WHOLE_FROM = 10
GIB = 1024**3
#: what is smaller is written with an exponent
TINY_BELOW = 1e-4


def device(name: str) -> str:
    """'GPU'."""
    return DEVICES.get(name, name)


def cause(part: str) -> str:
    """'waits for input'."""
    return CAUSES.get(part) or f"idles for {part.removeprefix('idle_').replace('_', ' ')}"


def duration(hours: float) -> str:
    """'13.2 h', '64 min', '42 s'."""
    if hours >= MINUTES_BELOW_H:
        return f"{hours:,.0f} h" if hours >= WHOLE_FROM * WHOLE_FROM else f"{hours:.1f} h"
    if hours >= SECONDS_BELOW_H:
        minutes = hours * 60
        return f"{minutes:.0f} min" if minutes >= WHOLE_FROM else f"{minutes:.1f} min"
    return f"{hours * 3600:.0f} s"


def times(factor: float) -> str:
    """'23', '6.5'."""
    return f"{factor:.0f}" if factor >= WHOLE_FROM else f"{factor:.2g}" if factor < 1 else f"{factor:.1f}"


def span(low: float | None, high: float | None, written: str = "{:.1f}") -> str:
    """'5.9–7.1'; 'spread not known' where it is not."""
    if low is None or high is None:
        return "spread not known"
    return f"{written.format(low)}–{written.format(high)}"


def percent(fraction: float) -> str:
    """'12 %', '0.4 %'."""
    size = abs(fraction) * 100
    text = f"{fraction * 100:.0f} %" if size >= 1 or size == 0 else f"{fraction * 100:.1f} %"
    return text.replace("-", "−")


def signed_percent(fraction: float) -> str:
    """'+12 %'."""
    return f"{'+' if fraction >= 0 else ''}{percent(fraction)}"


def gib(size: float) -> str:
    """'3.4 GiB'."""
    return f"{size / GIB:.1f} GiB" if size < WHOLE_FROM * GIB else f"{size / GIB:.0f} GiB"


def amount(value: float) -> str:
    """'1,204', '12.4', '0.0314': three significant digits."""
    size = abs(value)
    if size >= 100 or size == 0:  # noqa: PLR2004
        return f"{value:,.0f}"
    if size < TINY_BELOW:
        return f"{value:.2g}"
    return f"{value:.{2 - math.floor(math.log10(size))}f}"
