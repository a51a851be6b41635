"""Everything below the first ten lines: parts, savings, notes, what was not checked, data quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.findings.model import confidence_word
from analyze.report.amounts import Scale, counted, percent, severity_of, share_of_step
from analyze.report.evidence import evidence_of
from analyze.report.plain_text import clipped, clipped_left, columns, shown, wrapped
from analyze.report.step_parts import glyph, part_name, step_parts
from analyze.report.trust import trust_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.findings.model import Finding, Report, Summary
    from analyze.report.headline import Line

EVIDENCE_ROWS = 3
INDENT = "   "


def details(report: Report, width: int) -> Iterator[Line]:
    """Yield the lines of every section that has something to say."""
    scale = Scale.of(report.summary)
    yield from _parts(report.summary, scale)
    yield from _totals(report.summary, scale, width)
    for title, findings in (("Savings", report.findings), ("Notes", report.notes)):
        if findings:
            yield from _heading(title)
        for index, finding in enumerate(findings, 1):
            yield from _finding(index, finding, report, scale, width)
    yield from _ranks(report, width)
    yield from _checks(report, width)
    yield from _listed("How far to trust it", tuple(trust_sentences(report)), width)
    yield from _listed("Next", report.next_steps, width)
    yield from _listed("Source", (report.source,), width)


def _heading(title: str) -> Iterator[Line]:
    yield ()
    yield ((title, "bold"),)


def _text(text: str, width: int, first: str = INDENT, rest: str = INDENT, style: str = "") -> Iterator[Line]:
    for index, line in enumerate(wrapped(shown(text), width - len(first))):
        yield ((first if index == 0 else rest, ""), (line, style))


def _listed(title: str, items: tuple[str, ...], width: int) -> Iterator[Line]:
    if items:
        yield from _heading(title)
    for item in items:
        yield from _text(item, width)


def _parts(summary: Summary, scale: Scale) -> Iterator[Line]:
    parts = step_parts(summary)
    if not parts:
        return
    where = "on the device" if summary.step_parts_ns else "on the host"
    yield from _heading(f"The step {where}, in ms (mean)")
    rounded = scale.adding_up(parts)
    total = sum(rounded.values())
    name_width = max(columns(part_name(name)) for name in (*parts, "step"))
    number_width = max(columns(scale.ms(ns)) for ns in (*rounded.values(), total))
    for index, name in enumerate(sorted(parts, key=lambda part: -parts[part])):
        share = f"{percent(parts[name] / sum(parts.values())):>6}" if total else ""
        label = part_name(name) + " " * (name_width - columns(part_name(name)))
        if rounded[name]:
            yield ((f"{INDENT}{glyph(name, index)} {label}  {scale.ms(rounded[name]):>{number_width}} {share}", ""),)
    yield ((f"{INDENT}= {'step':{name_width}}  {scale.ms(total):>{number_width}}", ""),)


def _totals(summary: Summary, scale: Scale, width: int) -> Iterator[Line]:
    said = totals(summary, scale)
    if said:
        yield ()
    for sentence in said:
        yield from _text(sentence, width)


def totals(summary: Summary, scale: Scale) -> list[str]:
    """What the parts do not show: shares of busy time, the step after all fixes, where its time comes from."""
    known = {
        "device busy": summary.device_busy_fraction,
        "busy without collectives": summary.busy_without_collectives_fraction,
    }
    shares = [f"{name} {percent(share)}" for name, share in known.items() if share is not None]
    said = [", ".join(shares)] if shares else []
    if summary.after_all_fixes_ns is not None:
        said.append(f"all replayed fixes together would make the step {scale.ms(summary.after_all_fixes_ns)} ms")
    if summary.floor_ns is not None:
        said.append(f"with a device that never idles it would take {scale.ms(summary.floor_ns)} ms")
    if summary.step_time is not None:
        time = summary.step_time
        said.append(f"step time from {time.source}: mean {scale.ms(time.mean_ns)} ms of {counted(time.count, 'step')}")
        if time.profiled_mean_ns is not None and not time.profiled:
            said[-1] += f", {scale.ms(time.profiled_mean_ns)} ms under the profiler"
    return said


def _finding(index: int, finding: Finding, report: Report, scale: Scale, width: int) -> Iterator[Line]:
    detector = report.detectors[finding.detector]
    severity = severity_of(finding, report.summary.step_time).value
    title = f"{index}. {detector.title}"
    yield ()
    yield from _text(title, width, first="", style="bold")
    yield from _text(finding.message, width)
    yield from _text("; ".join(_worth(finding, report, scale, severity)), width)
    if finding.location:
        yield from _text(finding.location, width, first=f"{INDENT}where  ", rest=f"{INDENT}       ")
    yield from _evidence(finding, report.summary, width)
    for position, remedy in enumerate(report.fix_of(finding)):
        yield from _text(remedy.text, width, first=f"{INDENT}{'fix' if position == 0 else 'or':6} ", rest=f"{INDENT}       ")
        for line in remedy.code.splitlines():
            yield ((f"{INDENT}           ", ""), (shown(line), "green"))
    if finding.caveat:
        yield from _text(finding.caveat, width, first=f"{INDENT}beware ", rest=f"{INDENT}       ")
    yield ((f"{INDENT}more   stepscope explain {shown(finding.detector)}", "dim"),)


def _worth(finding: Finding, report: Report, scale: Scale, severity: str) -> Iterator[str]:
    if finding.step_saving_ns is not None:
        share = share_of_step(finding, report.summary.step_time)
        of_step = "" if share is None else f", {percent(share)} of it"
        bounds = scale.span(finding.step_saving_low_ns, finding.step_saving_high_ns)
        yield f"saves {scale.ms(finding.step_saving_ns)} ms of each step ({bounds}){of_step}"
    if finding.step_saving_ns is not None or finding.severity is not None:
        yield f"severity {severity}"
    basis = f", {finding.basis}" if finding.basis else ""
    yield f"confidence {finding.confidence:.2f} ({confidence_word(finding.confidence)}){basis}"
    if finding.rank is not None:
        yield f"rank {finding.rank}"


def _evidence(finding: Finding, summary: Summary, width: int) -> Iterator[Line]:
    """The first rows as a small table; of the columns as many as fit."""
    evidence = evidence_of(finding, summary, EVIDENCE_ROWS)
    if evidence is None:
        return
    widths = [max(columns(text) for text in column) for column in zip(evidence.titles, *evidence.rows, strict=True)]
    room, kept = width - len(INDENT) - 7, 0
    while kept < len(widths) and sum(widths[: kept + 1]) + 2 * kept <= room:
        kept += 1
    count = f" ({EVIDENCE_ROWS} of {evidence.count:,})" if evidence.count > EVIDENCE_ROWS else ""
    yield ((f"{INDENT}seen{count}", ""),)
    for style, row in (("dim", evidence.titles), *(("", row) for row in evidence.rows)):
        padded = (text + " " * (size - columns(text)) for text, size in zip(row[: max(kept, 1)], widths, strict=False))
        yield ((f"{INDENT}       ", ""), (clipped("  ".join(padded).rstrip(), room), style))


def _ranks(report: Report, width: int) -> Iterator[Line]:
    if len(report.ranks) < 2:  # noqa: PLR2004 - one rank needs no comparison
        return
    yield from _heading("Ranks")
    for one in report.ranks:
        scale, time, busy = Scale.of(one.summary), one.summary.step_time, one.summary.device_busy_fraction
        pieces = [f"rank {'?' if one.rank is None else one.rank}"]
        pieces.append("no steps" if time is None else f"{scale.ms(time.mean_ns)} ms")
        pieces += [] if busy is None else [f"device busy {percent(busy)}"]
        known = f"{INDENT}{', '.join(pieces)}, "
        # names of one run differ at their ends
        yield ((known + clipped_left(shown(one.name), max(width - len(known), 0)), ""),)


def _checks(report: Report, width: int) -> Iterator[Line]:
    if report.skipped:
        yield from _heading("Not checked")
    for reason, ids in reasons_of_skipped(report).items():
        yield from _text(f"{reason}: {', '.join(ids)}", width)
    if report.clear:
        yield from _heading("Checked, nothing found")
        yield from _text(", ".join(report.clear), width)


def reasons_of_skipped(report: Report) -> dict[str, list[str]]:
    """Ids of the detectors that could not look, by reason."""
    reasons: dict[str, list[str]] = {}
    for detector, reason in report.skipped:
        reasons.setdefault(reason, []).append(detector)
    return reasons
