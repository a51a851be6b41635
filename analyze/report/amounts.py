"""How are times, shares and counts written? One unit for a whole report, and parts that add up as printed."""

# ruff: noqa: RUF001, RUF002 - dashes, minus and multiplication signs are meant
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze.findings.model import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from analyze.findings.model import Finding, StepTime, Summary

NS_PER_MS = 1e6


@dataclass(frozen=True)
class Scale:
    """Milliseconds with as many decimals as the step time deserves."""

    decimals: int

    @classmethod
    def of(cls, summary: Summary) -> Scale:
        """Scale for a report whose step takes this long."""
        return cls.of_step(summary.step_time.mean_ns if summary.step_time else 10 * NS_PER_MS)

    @classmethod
    def of_step(cls, step_ns: float) -> Scale:
        """Scale for a step of this length."""
        step_ms = step_ns / NS_PER_MS
        return cls(0 if step_ms >= 1000 else 1 if step_ms >= 10 else 2 if step_ms >= 1 else 3)  # noqa: PLR2004

    def ms(self, ns: float) -> str:
        """'68.4', without the unit."""
        text = f"{ns / NS_PER_MS:,.{self.decimals}f}"
        return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")

    def span(self, low_ns: float | None, high_ns: float | None) -> str:
        """'48.0–54.1'; an unknown end is '?'."""
        return "–".join("?" if ns is None else self.ms(ns) for ns in (low_ns, high_ns))

    def adding_up(self, parts_ns: Mapping[str, float]) -> dict[str, float]:
        """Round each part so that the printed parts add up to the printed total (largest remainders get the rest)."""
        unit = NS_PER_MS / 10**self.decimals
        floors = {name: math.floor(ns / unit) for name, ns in parts_ns.items()}
        missing = round(sum(parts_ns.values()) / unit) - sum(floors.values())
        by_remainder = sorted(parts_ns, key=lambda name: floors[name] - parts_ns[name] / unit)
        for name in by_remainder[:missing]:
            floors[name] += 1
        return {name: count * unit for name, count in floors.items()}


def percent(fraction: float) -> str:
    """'9%', or '0.4%' where it is small."""
    size = abs(fraction)
    return f"{fraction * 100:.{0 if size >= 0.0995 or size < 0.0005 else 1}f}%".replace("-0%", "0%").replace("-", "−")  # noqa: PLR2004


def quantity(value: float) -> str:
    """'936', '12.4', '1,204': three or more significant digits, no more decimals than they need."""
    if not math.isfinite(value):
        return "?"
    decimals = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2  # noqa: PLR2004
    return f"{value:,.{decimals}f}"


def counted(count: int, singular: str, plural: str = "") -> str:
    """'1 step', '40 steps'."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def share_of_step(finding: Finding, step_time: StepTime | None) -> float | None:
    """Saving as a fraction of the step time that the report gives; None where either is unknown."""
    if finding.step_saving_ns is None or step_time is None or step_time.mean_ns <= 0:
        return None
    return finding.step_saving_ns / step_time.mean_ns


def severity_of(finding: Finding, step_time: StepTime | None) -> Severity:
    """Severity the detector gave, else the one that follows from the share of the step."""
    return finding.severity or Severity.of_share(share_of_step(finding, step_time) or 0.0)
