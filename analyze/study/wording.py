"""How are a study's numbers written in a sentence?"""

# ruff: noqa: RUF001, RUF002 - dashes and minus signs are meant
from __future__ import annotations

DEVICES = {"cpu": "CPU", "cuda": "GPU"}
MODES = {"train": "training", "infer": "inference"}
CAUSES = {
    "idle_input_wait": "waiting for input",
    "idle_launch": "waiting for launches",
    "idle_blocking_copy": "waiting for copies",
    "idle_synchronisation": "waiting for the host to synchronise",
    "exposed_copy": "in copies that nothing hides",
    "exposed_communication": "in communication that nothing hides",
    "input_wait": "waiting for input",
}
MINUTES_BELOW_H = 1.0
SECONDS_BELOW_H = 1 / 60
#: where one more digit would say nothing
WHOLE_FROM = 10
GIB = 1024**3


def device(name: str) -> str:
    """'GPU'."""
    return DEVICES.get(name, name)


def cause(part: str) -> str:
    """'waiting for input'."""
    return CAUSES.get(part) or part.removeprefix("idle_").replace("_", " ")


def duration(hours: float) -> str:
    """'13.2 h', '31 min', '42 s'."""
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
    """'1,204', '12.4', '0.031': three significant digits."""
    size = abs(value)
    if size >= 100:  # noqa: PLR2004
        return f"{value:,.0f}"
    decimals = 1 if size >= WHOLE_FROM else 2 if size >= 1 else 3
    return f"{value:.{decimals}f}"
