"""A finished comparison as text and as JSON: the change, its noise, the parts, the findings that went and came."""

# ruff: noqa: RUF001, RUF002 - dashes and minus signs are meant
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from analyze.report.amounts import NS_PER_MS, Scale
from analyze.report.document import SCHEMA_VERSION, json_value
from analyze.report.headline import what_ran
from analyze.report.plain_text import clipped, columns, shown
from analyze.report.step_parts import part_name, step_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.comparison import Comparison
    from analyze.findings.model import Report
    from analyze.report.headline import Line


def lines(comparison: Comparison, width: int) -> list[Line]:
    """Return the comparison as lines of styled spans."""
    scale = Scale.of(comparison.base.summary)
    base, new = comparison.base, comparison.new
    return [
        ((clipped(f"base    {what_ran(base.summary)} [{shown(base.source)}]", width), ""),),
        ((clipped(f"new     {what_ran(new.summary)} [{shown(new.source)}]", width), ""),),
        ((_change(comparison, scale), "bold"),),
        *(((line, ""),) for line in _parts(comparison, scale)),
        *(((clipped(line, width), ""),) for line in _findings(base, new)),
        *(((line, "bold"),) for line in _gate(comparison)),
    ]


def signed_percent(fraction: float | None) -> str:
    """'+3.1%', '−12.0%', '?' where unknown."""
    return "?" if fraction is None else f"{fraction * 100:+.1f}%".replace("-", "−")


def _change(comparison: Comparison, scale: Scale) -> str:
    noise = "too few steps to know the noise"
    if comparison.change_low is not None:
        noise = f"{signed_percent(comparison.change_low)} to {signed_percent(comparison.change_high)}"
    return (
        f"{comparison.metric}  {scale.ms(comparison.base_ns)} → {scale.ms(comparison.new_ns)} ms, "
        f"{signed_percent(comparison.change)} ({noise}; {comparison.base_count:,} and {comparison.new_count:,} steps)"
    )


def _parts(comparison: Comparison, scale: Scale) -> Iterator[str]:
    before, after = (scale.adding_up(step_parts(one.summary)) for one in (comparison.base, comparison.new))
    present = [name for name in {**before, **after} if before.get(name) or after.get(name)]
    present.sort(key=lambda name: -max(before.get(name, 0), after.get(name, 0)))
    size = max((columns(part_name(name)) for name in present), default=0)
    for name in present:
        label = part_name(name) + " " * (size - columns(part_name(name)))
        yield f"   {label}  {_ms(before.get(name), scale):>8} → {_ms(after.get(name), scale):>8} ms"


def _ms(ns: float | None, scale: Scale) -> str:
    return "–" if ns is None else scale.ms(ns)


def _findings(base: Report, new: Report) -> Iterator[str]:
    gone, came = moved(base, new)
    if gone:
        yield f"gone    {', '.join(map(shown, gone))}"
    if came:
        yield f"new     {', '.join(map(shown, came))}"


def moved(base: Report, new: Report) -> tuple[list[str], list[str]]:
    """Ids of findings only the base has, and of those only the new run has."""
    before, after = ([finding.detector for finding in report.findings] for report in (base, new))
    return [one for one in before if one not in after], [one for one in after if one not in before]


def _gate(comparison: Comparison) -> Iterator[str]:
    if comparison.decision is not None:
        yield f"gate    {comparison.decision} (allowed: {signed_percent(comparison.max_regression)})"


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as plain JSON values."""
    gone, came = moved(comparison.base, comparison.new)
    before, after = step_parts(comparison.base.summary), step_parts(comparison.new.summary)
    pieces = {
        "schema_version": SCHEMA_VERSION,
        "base": comparison.base.source,
        "new": comparison.new.source,
        "metric": comparison.metric,
        "base_ms": comparison.base_ns / NS_PER_MS,
        "new_ms": comparison.new_ns / NS_PER_MS,
        "base_count": comparison.base_count,
        "new_count": comparison.new_count,
        "change_fraction": comparison.change,
        "change_low_fraction": comparison.change_low,
        "change_high_fraction": comparison.change_high,
        "max_regression_fraction": comparison.max_regression,
        "decision": comparison.decision,
        "base_parts_ms": {name: ns / NS_PER_MS for name, ns in before.items()} or None,
        "new_parts_ms": {name: ns / NS_PER_MS for name, ns in after.items()} or None,
        "findings_gone": gone,
        "findings_new": came,
    }
    return {key: json_value(piece) for key, piece in pieces.items()}


def render(comparison: Comparison) -> str:
    """Return the document as text."""
    return json.dumps(document(comparison), indent=2, allow_nan=False)
