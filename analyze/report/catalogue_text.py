"""The catalogue of detectors and tables as text: what `detectors`, `explain` and `export --list` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyze.report import example_text
from analyze.report.plain_text import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from analyze.findings.examples import Example
    from analyze.findings.model import Detector
    from analyze.report.headline import Line
    from analyze.schema import Column

INDENT = "   "


def detector_list(detectors: Sequence[Detector]) -> list[Line]:
    """Return one line per detector: id and title."""
    size = max((len(detector.id) for detector in detectors), default=0)
    return [((f"{detector.id:{size}}", "bold"), (f"  {detector.title}", "")) for detector in detectors]


def explanation(detector: Detector, example: Example | None, width: int) -> Iterator[Line]:
    """Yield what a detector means, what it measures, the remedies, cheapest first, and a real finding where there is one."""
    yield ((detector.id, "bold"), (f"  {detector.title}", ""))
    for title, text in (("What it means", detector.meaning), ("What is measured", detector.measured)):
        yield from _section(title)
        yield from _paragraphs(text, width)
    yield from _section("What to do, cheapest first")
    for index, remedy in enumerate(detector.fix, 1):
        for position, line in enumerate(wrapped(remedy.text, width - 6)):
            yield ((f"{INDENT}{index}. " if position == 0 else f"{INDENT}   ", ""), (line, ""))
        for line in remedy.code.splitlines():
            yield ((f"{INDENT}       ", ""), (line, "green"))
    yield from _section("An example")
    yield from _example(detector, example, width)
    yield from _section("Read more")
    yield ((f"{INDENT}{detector.doc}", ""),)


def _example(detector: Detector, example: Example | None, width: int) -> Iterator[Line]:
    if example is None:
        yield from _paragraphs(example_text.none(detector.id), width)
        return
    for sentence in example_text.sentences(example):
        yield from _paragraphs(sentence, width)
    yield ((f"{INDENT}    ", ""), (example_text.command(example), "green"))


def _section(title: str) -> Iterator[Line]:
    yield ()
    yield ((title, "bold"),)


def _paragraphs(text: str, width: int) -> Iterator[Line]:
    for line in wrapped(text, width - len(INDENT)):
        yield ((f"{INDENT}{line}", ""),)


def table_list(tables: Mapping[str, Sequence[Column]]) -> Iterator[Line]:
    """Yield every table with its columns: dtype, unit, meaning."""
    for name, columns in tables.items():
        yield ((name, "bold"),)
        size = max((len(column.name) for column in columns), default=0)
        for column in columns:
            unit = f" [{column.unit}]" if column.unit else ""
            yield ((f"{INDENT}{column.name:{size}}  {column.dtype}{unit}: {column.meaning}", ""),)
