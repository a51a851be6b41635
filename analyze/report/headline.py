"""The first ten lines: what ran, how long a step takes and why, what to fix first, how far to trust it, what next."""

# ruff: noqa: RUF001 - dashes, minus and multiplication signs are meant
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from analyze.findings.model import confidence_word
from analyze.report.amounts import Scale, counted, percent, quantity, severity_of
from analyze.report.plain_text import clipped, clipped_left, columns, first_fitting, shown, wrapped
from analyze.report.step_parts import bar, part_name, step_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.findings.model import Finding, Report, StepTime, Summary

#: a piece of a line and the name of its style; '' is plain
Span = tuple[str, str]
Line = tuple[Span, ...]

LINES = 10
TOP = 3
LABEL_WIDTH = 8
BAR_WIDTH = 14
#: the least that is kept for why checks were skipped
REASON_WIDTH = 14
#: no single name takes the first line for itself
NAME_WIDTH = 32
#: shown in the first line where they are known, in this order
VERSIONS = ("torch", "cuda", "hip", "jax")


def headline(report: Report, width: int) -> list[Line]:
    """Return at most ten lines of at most this many columns."""
    room = width - LABEL_WIDTH
    scale = Scale.of(report.summary)
    verdict = _verdict(report.verdict, room)
    lines = [
        ((clipped(what_ran(report.summary), width), "bold"),),
        _labelled("step", first_fitting(step_variants(report.summary, scale), room)),
        *(
            (("verdict " if index == 0 else " " * LABEL_WIDTH, "dim"), (line, "bold"))
            for index, line in enumerate(verdict)
        ),
        *_parts_line(report.summary, scale, room),
        *(
            _finding_line(index, finding, report, scale, width)
            for index, finding in enumerate(report.findings[:TOP], 1)
        ),
    ]
    ending = [_labelled("next", clipped(shown(step), room)) for step in report.next_steps[:1]]
    trust, skipped = trust_pieces(report), unchecked_pieces(report)
    if len(lines) + 2 + len(ending) <= LINES:
        middle = [
            _labelled("trust", first_fitting(_shrinking(trust, ", "), room)),
            _labelled("skipped", first_fitting(_shrinking(skipped, ": "), room)),
        ]
    else:
        middle = [_labelled("trust", _joined(trust, skipped, room))]
    return [*lines, *middle, *ending]


def _labelled(label: str, text: str) -> Line:
    return ((label.ljust(LABEL_WIDTH), "dim"), (text, ""))


def _verdict(text: str, room: int) -> list[str]:
    lines = wrapped(shown(text), room)
    return lines if len(lines) <= 2 else [lines[0], clipped(f"{lines[1]} {lines[2]}", room)]  # noqa: PLR2004


def what_ran(summary: Summary) -> str:
    """Model or script, devices, versions, batch, rank of world."""
    count = f"{summary.device_count} × " if summary.device_count > 1 else ""
    pieces = [summary.label, f"{count}{summary.device}"]
    pieces += [f"{name} {summary.versions[name]}" for name in VERSIONS if summary.versions.get(name)]
    if summary.batch_size is not None:
        pieces.append(f"batch {summary.batch_size}")
    if summary.rank is not None:
        world = "" if summary.world_size is None else f" of {summary.world_size}"
        pieces.append(f"rank {summary.rank}{world}")
    return " · ".join(clipped(shown(piece), NAME_WIDTH) for piece in pieces)


def step_variants(summary: Summary, scale: Scale) -> Iterator[str]:
    """The step line, fullest wording first."""
    step_time = summary.step_time
    if step_time is None:
        yield "unknown: no steps were found in this trace"
        return
    time = f"{scale.ms(step_time.median_ns)} ms"
    spread = scale.span(step_time.p10_ns, step_time.p90_ns)
    kind = "profiled" if step_time.profiled else "unprofiled"
    found = " (inferred)" if step_time.inferred else ""
    rate = "" if summary.samples_per_s is None else f", {quantity(summary.samples_per_s)} samples/s"
    known = step_time.p10_ns is not None or step_time.p90_ns is not None
    extra = profiling_adds(step_time)
    if known:
        yield f"{time} (p10–p90 {spread}), {counted(step_time.count, f'{kind} step')}{found}{rate}{extra}"
        yield f"{time} (p10–p90 {spread}), {step_time.count} {kind}{found}{rate}{extra}"
        yield f"{time} ({spread}), {step_time.count} {kind}{found}{rate}{extra}"
        yield f"{time} ({spread}), {step_time.count} {kind}{found}{extra}"
    yield f"{time}, {counted(step_time.count, f'{kind} step')}{found}{rate}{extra}"


def profiling_adds(step_time: StepTime) -> str:
    """', profiling +9%' where both the unprofiled and the profiled step time are known."""
    if step_time.profiled or step_time.profiled_mean_ns is None or step_time.mean_ns <= 0:
        return ""
    share = step_time.profiled_mean_ns / step_time.mean_ns - 1
    return f", profiling {'+' if share >= 0 else ''}{percent(share)}"


def _parts_line(summary: Summary, scale: Scale, room: int) -> list[Line]:
    parts = step_parts(summary)
    if not parts:
        return []
    rounded = scale.adding_up(parts)
    order = sorted(parts, key=lambda name: -parts[name])
    total = f" = {scale.ms(sum(rounded.values()))} ms"
    if summary.step_time and scale.ms(summary.step_time.median_ns) != scale.ms(sum(rounded.values())):
        total += " mean"
    text = first_fitting(
        (_sum(order, rounded, scale, named) + total for named in range(len(order), 0, -1)), room - BAR_WIDTH - 2
    )
    return [(("parts".ljust(LABEL_WIDTH), "dim"), (bar(parts, BAR_WIDTH), "cyan"), ("  " + text, ""))]


def _sum(order: list[str], rounded: dict[str, float], scale: Scale, named: int) -> str:
    text = ""
    terms = [(part_name(name), rounded[name]) for name in order[:named]]
    if named < len(order):
        terms.append(("other", sum(rounded[name] for name in order[named:])))
    for name, ns in terms:
        sign = " − " if ns < 0 else " + "
        text += f"{sign if text else ''}{name} {scale.ms(abs(ns) if text else ns)}"
    return text


def _finding_line(index: int, finding: Finding, report: Report, scale: Scale, width: int) -> Line:
    word = confidence_word(finding.confidence)
    saving = "−?" if finding.step_saving_ns is None else f"−{scale.ms(finding.step_saving_ns)} ms"
    bounds = scale.span(finding.step_saving_low_ns, finding.step_saving_high_ns)
    head = f"{index} {shown(finding.detector)} {saving} ({bounds}, {word})"
    style = {"high": "red", "medium": "yellow", "low": ""}[severity_of(finding, report.summary.step_time).value]
    return ((head, style), (_where_and_fix(finding, report, width - columns(head)), ""))


def _where_and_fix(finding: Finding, report: Report, room: int) -> str:
    remedy = next(iter(report.detectors[finding.detector].fix), None)
    fix = "" if remedy is None else remedy.text if "\n" in remedy.code or not remedy.code else remedy.code
    fix = f" → {shown(fix)}" if fix else ""
    if not finding.location:
        return clipped(fix, room)
    # The end of a location names the line; half of the room is the fix's whatever the location needs.
    where = f" {clipped_left(shown(finding.location), max(room - 1 - min(columns(fix), room // 2), 1))}"
    return clipped(where + fix, room)


def trust_pieces(report: Report) -> list[str]:
    """Replay error, what the trace lacks, what was dropped: most important first."""
    error = report.summary.replay_error_fraction
    pieces = ["no replay" if error is None else f"replay {percent(error)} off"]
    if report.info is not None:
        has = {"shapes": report.info.has_shapes, "stacks": report.info.has_stacks, "memory": report.info.has_memory}
        lacking = [name for name, present in has.items() if not present]
        pieces += [f"no {', '.join(lacking)}"] if lacking else []
    pieces += [f"{shown(cause)} {count:,}" for cause, count in report.data_quality.select("cause", "count").iter_rows()]
    if report.set_aside:
        pieces.append(f"{counted(len(report.set_aside), 'file')} set aside")
    return pieces


def unchecked_pieces(report: Report) -> list[str]:
    """How many checks could not be made, and the reasons, commonest first."""
    if not report.skipped:
        return [f"none of {len(report.outcomes)} checks"]
    reasons = Counter(reason for _, reason in report.skipped)
    pieces = [f"{len(report.skipped)} of {len(report.outcomes)} checks"]
    if len(reasons) == 1:
        return [*pieces, shown(next(iter(reasons)))]
    return pieces + [f"{shown(reason)} ({count})" for reason, count in reasons.most_common()]


def _shrinking(pieces: list[str], after_first: str) -> Iterator[str]:
    for kept in range(len(pieces), 1, -1):
        more = f" +{len(pieces) - kept} more" if kept < len(pieces) else ""
        yield f"{pieces[0]}{after_first}{', '.join(pieces[1:kept])}{more}"
    yield f"{pieces[0]} +{len(pieces) - 1} more" if len(pieces) > 1 else pieces[0]
    yield pieces[0]


def _joined(trust: list[str], skipped: list[str], room: int) -> str:
    """Trust and skipped checks in one line: reasons are clipped before what limits trust is left out."""
    checks = f"; {skipped[0].removesuffix(' checks')} skipped"
    head = first_fitting(_shrinking(trust, ", "), room - columns(checks) - (REASON_WIDTH if skipped[1:] else 0))
    reasons = f": {', '.join(skipped[1:])}" if skipped[1:] else ""
    return head + clipped(checks + reasons, room - columns(head))
