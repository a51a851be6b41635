"""The first ten lines: what ran, how long a step takes and why, what to fix first, how far to trust it, what next."""

# ruff: noqa: RUF001 - dashes, minus and multiplication signs are meant
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from analyze.findings.model import confidence_word
from analyze.report.amounts import Scale, counted, percent, quantity, severity_of
from analyze.report.plain_text import clipped, clipped_left, columns, excerpt, first_fitting, shown, wrapped
from analyze.report.step_parts import bar, part_name, step_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.findings.model import Finding, Remedy, Report, StepTime, Summary

#: a piece of a line and the name of its style; '' is plain
Span = tuple[str, str]
Line = tuple[Span, ...]

LINES = 10
TOP = 3
LABEL_WIDTH = 8
BAR_WIDTH = 10
#: the least that is kept for why checks were skipped
REASON_WIDTH = 14
#: no single name takes the first line for itself
NAME_WIDTH = 44
#: shown in the first line where they are known, in this order
VERSIONS = ("torch", "cuda", "hip", "jax")


def headline(report: Report, width: int) -> list[Line]:
    """Return at most ten lines of at most this many columns."""
    room, scale = width - LABEL_WIDTH, Scale.of(report.summary)
    ending = [_labelled("next", clipped(shown(step), room)) for step in report.next_steps[:1]]
    parts = _parts_line(report.summary, scale, room)
    findings = [_finding_line(*numbered, report, scale, width) for numbered in enumerate(report.findings[:TOP], 1)]
    # Beside these stand what ran, the step, and at least one line for trust and skipped checks.
    verdict = _verdict(report.verdict, room, LINES - 3 - len(parts) - len(findings) - len(ending))
    lines: list[Line] = [
        ((clipped(what_ran(report.summary), width), "bold"),),
        _labelled("step", first_fitting(step_variants(report.summary, scale), room)),
        *verdict,
        *parts,
        *findings,
    ]
    trust, skipped = trust_pieces(report), unchecked_pieces(report)
    if len(lines) + 2 + len(ending) <= LINES:
        trust_line = _labelled("trust", first_fitting(_shrinking(trust, ", "), room))
        return [*lines, trust_line, _labelled("skipped", _skipped(skipped, room)), *ending]
    return [*lines, _labelled("trust", _joined(trust, skipped, room)), *ending]


def _labelled(label: str, text: str) -> Line:
    return ((label.ljust(LABEL_WIDTH), "dim"), (text, ""))


def _verdict(text: str, room: int, most: int) -> list[Line]:
    lines = wrapped(shown(text), room)
    if len(lines) > most:
        lines = [*lines[: most - 1], clipped(" ".join(lines[most - 1 : most + 1]), room)]
    labels = ["verdict", *[""] * len(lines)]
    return [((label.ljust(LABEL_WIDTH), "dim"), (line, "bold")) for label, line in zip(labels, lines, strict=False)]


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
    return " · ".join(excerpt(piece, NAME_WIDTH) for piece in pieces)


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
    known = step_time.count > 1 and (step_time.p10_ns is not None or step_time.p90_ns is not None)
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
    rounded = scale.adding_up(parts)
    if not any(rounded.values()):
        return []
    order = sorted((name for name in parts if rounded[name]), key=lambda name: -parts[name])
    total = f" = {scale.ms(sum(rounded.values()))} ms"
    if summary.step_time and scale.ms(summary.step_time.median_ns) != scale.ms(sum(rounded.values())):
        total += " mean"
    text = first_fitting((_sum(order, rounded, scale, named) + total for named in range(len(order), 0, -1)), room - BAR_WIDTH - 2)
    return [(("parts".ljust(LABEL_WIDTH), "dim"), (bar(parts, BAR_WIDTH), "cyan"), ("  " + text, ""))]


def _sum(order: list[str], rounded: dict[str, float], scale: Scale, named: int) -> str:
    text = ""
    terms = [(part_name(name), rounded[name]) for name in order[:named]]
    if named < len(order):
        terms.append(("rest", sum(rounded[name] for name in order[named:])))
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
    where = shown(finding.location or "")
    fix = _first_fix(report.fix_of(finding), room - min(columns(where) + 4, room // 2))
    # Half of the room is the fix's whatever the location needs.
    space = max(room - 1 - min(columns(fix), room // 2), 1)
    # The end of a path names the line, the beginning of a call its operator.
    where = clipped_left(where, space) if {"/", "\\"} & set(where) else clipped(where, space)
    return clipped(f" {where}{fix}" if where else fix, room)


def _first_fix(remedies: tuple[Remedy, ...], room: int) -> str:
    """The cheapest remedy: its code where that is a line that fits, else its text."""
    if not remedies:
        return ""
    remedy = remedies[0]
    short = remedy.code and "\n" not in remedy.code and columns(remedy.code) + 3 <= room
    return f" → {remedy.code if short else remedy.text}"


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


def _skipped(pieces: list[str], room: int) -> str:
    fullest, *shorter = _shrinking(pieces, ": ")
    # With room for none but a clipped reason, the commonest is begun.
    fitting = (text for text in (fullest, *shorter[:-2]) if columns(text) <= room)
    return next(fitting, clipped(fullest, room))


def _joined(trust: list[str], skipped: list[str], room: int) -> str:
    """Trust and skipped checks in one line: reasons are clipped before what limits trust is left out."""
    checks = f"; {skipped[0].removesuffix(' checks')} skipped"
    head = first_fitting(_shrinking(trust, ", "), room - columns(checks) - (REASON_WIDTH if skipped[1:] else 0))
    reasons = f": {', '.join(skipped[1:])}" if skipped[1:] else ""
    return head + clipped(checks + reasons, room - columns(head))
