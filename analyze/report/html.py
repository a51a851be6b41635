"""The report as one self-contained page, or as a fragment for a notebook: no script, nothing fetched from elsewhere."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import polars as pl

from analyze.errors import StepscopeError
from analyze.findings.model import confidence_word
from analyze.report.amounts import Scale, percent, severity_of, share_of_step
from analyze.report.charts.colours import part_colour
from analyze.report.details import reasons_of_skipped, totals
from analyze.report.evidence import evidence_of
from analyze.report.headline import step_variants, what_ran
from analyze.report.plain_text import excerpt
from analyze.report.step_parts import part_name, step_parts
from analyze.report.trust import trust_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.findings.model import Finding, Report, Summary

TEMPLATES = Path(__file__).parent / "templates"
#: together these keep a page below 2 MB whatever a run holds
TEXT_WIDTH, EVIDENCE_ROWS, LISTED = 600, 20, 200
#: steps drawn; of a longer run every nth
STEPS_DRAWN = 400
CHART_WIDTH, CHART_HEIGHT = 640, 90


def render(report: Report) -> str:
    """Return a whole page, light or dark as the reader's system is."""
    return _template("page.html").render(_content(report))


def fragment(report: Report) -> str:
    """Return the body alone, in the colours of what surrounds it."""
    return _template("fragment.html").render(_content(report))


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _content(report: Report) -> dict[str, Any]:
    scale = Scale.of(report.summary)
    return {
        "ran": what_ran(report.summary),
        "step": next(step_variants(report.summary, scale)),
        "verdict": _text(report.verdict),
        "parts": list(_parts(report.summary, scale)),
        "totals": totals(report.summary, scale),
        "steps": _steps_chart(report, scale),
        "findings": [_card(finding, report, scale) for finding in report.findings],
        "notes": [_card(finding, report, scale) for finding in report.notes],
        "trust": [_text(sentence) for sentence in islice(trust_sentences(report), LISTED)],
        "ranks": list(_ranks(report)) if len(report.ranks) > 1 else [],
        "skipped": [(_text(reason), ids) for reason, ids in reasons_of_skipped(report).items()],
        "clear": list(report.clear),
        "next_steps": [_text(step) for step in report.next_steps],
        "source": _text(report.source),
    }


def _text(value: object) -> str:
    return excerpt("" if value is None else value, TEXT_WIDTH)


def _parts(summary: Summary, scale: Scale) -> Iterator[dict[str, str]]:
    parts = step_parts(summary)
    rounded = scale.adding_up(parts)
    drawn = sum(ns for ns in parts.values() if ns > 0) or 1.0
    for index, name in enumerate(sorted(parts, key=lambda part: -parts[part])):
        if not rounded[name]:
            continue
        share = max(parts[name], 0) / drawn
        yield {
            "name": part_name(name),
            "ms": scale.ms(rounded[name]),
            "share": percent(share),
            "width": f"{share * 100:.3f}",
            "colour": part_colour(name, index),
        }


def _card(finding: Finding, report: Report, scale: Scale) -> dict[str, Any]:
    detector = report.detectors[finding.detector]
    step_time = report.summary.step_time
    share = share_of_step(finding, step_time)
    known = finding.step_saving_ns is not None
    return {
        "id": detector.id,
        "title": detector.title,
        "meaning": detector.meaning,
        "message": _text(finding.message),
        "severity": severity_of(finding, step_time).value if known or finding.severity else None,
        "confidence": f"{finding.confidence:.2f} ({confidence_word(finding.confidence)})",
        "basis": finding.basis,
        "rank": finding.rank,
        "saving": scale.ms(finding.step_saving_ns) if finding.step_saving_ns is not None else None,
        "bounds": scale.span(finding.step_saving_low_ns, finding.step_saving_high_ns) if known else None,
        "share": None if share is None else percent(share),
        "bar": _bounds_bar(finding, report.summary),
        "location": _text(finding.location),
        "evidence": evidence_of(finding, report.summary, EVIDENCE_ROWS),
        "fix": report.fix_of(finding),
        "caveat": _text(finding.caveat),
        "doc": detector.doc,
        "doc_is_link": detector.doc.startswith("https://"),
    }


def _bounds_bar(finding: Finding, summary: Summary) -> dict[str, str] | None:
    """Per cent of the step: where the saving's bounds begin and end, and the saving itself."""
    low, high, saving = finding.step_saving_low_ns, finding.step_saving_high_ns, finding.step_saving_ns
    if summary.step_time is None or low is None or high is None or saving is None:
        return None
    step = summary.step_time.mean_ns
    begin, end, at = (min(max(ns / step * 100, 0.0), 100.0) for ns in (low, high, saving))
    return {"low": f"{begin:.2f}", "width": f"{max(end - begin, 0.0):.2f}", "saving": f"{at:.2f}"}


def _ranks(report: Report) -> Iterator[dict[str, str]]:
    for one in report.ranks[:LISTED]:
        scale, time, busy = Scale.of(one.summary), one.summary.step_time, one.summary.device_busy_fraction
        yield {
            "rank": "?" if one.rank is None else str(one.rank),
            "step": "no steps" if time is None else f"{scale.ms(time.mean_ns)} ms",
            "busy": "unknown" if busy is None else percent(busy),
            "name": _text(one.name),
        }


def _steps_chart(report: Report, scale: Scale) -> dict[str, Any] | None:
    """Points of the step times in the order of the run; None where the run has fewer than two."""
    try:
        steps = report.table("step_time").drop_nulls("step_ns").sort("step")
    except StepscopeError:
        return None
    if steps.height < 2:  # noqa: PLR2004 - one step is no chart
        return None
    steps = steps.gather_every(-(-steps.height // STEPS_DRAWN))
    highest = float(steps.select(pl.col("step_ns").max()).item()) or 1.0
    spacing = CHART_WIDTH / steps.height
    points = [
        {
            "x": f"{(index + 0.5) * spacing:.1f}",
            "y": f"{CHART_HEIGHT * (1 - 0.92 * ns / highest):.1f}",
            "profiled": bool(profiled),
            "label": f"step {step}: {scale.ms(ns)} ms",
        }
        for index, (step, ns, profiled) in enumerate(steps.select("step", "step_ns", "profiled").iter_rows())
    ]
    return {"points": points, "width": CHART_WIDTH, "height": CHART_HEIGHT, "highest": scale.ms(highest)}
