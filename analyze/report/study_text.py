"""A study for a terminal: what it concludes, by question, then its figures beside those of the 2023 study."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from analyze.report.amounts import counted
from analyze.report.plain_text import clipped, shown, wrapped
from analyze.report.study_figures import figures
from analyze.study.model import QUESTIONS
from analyze.study.published_2023 import CAVEAT, SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from analyze.report.headline import Line
    from analyze.study.model import Study

INDENT = "  "
#: columns of the study's figure, and the most of what is measured; ours has the rest
STUDY_WIDTH, WHAT_WIDTH = 20, 36


def lines(study: Study, width: int) -> list[Line]:
    """Return the study as lines of (text, style) spans."""
    return [*_head(study, width), *_answers(study, width), *_figures(study, width), *_unknown(study, width)]


def what_ran(study: Study) -> str:
    """'study of resnet18, images of 64 pixels, 1 worker, fp32: 4 of 4 cells'."""
    options = study.options
    pieces = [f"study of {shown(options.get('model', 'a model'))}"]
    if options.get("image_size"):
        pieces.append(f"images of {shown(options['image_size'])} pixels")
    if options.get("workers") is not None:
        pieces.append(counted(options["workers"], "worker"))
    pieces.append(shown(options.get("precision", "")))
    done = sum(cell.state == "done" for cell in study.cells)
    return f"{', '.join(piece for piece in pieces if piece)}: {done} of {counted(len(study.cells), 'cell')}"


def _head(study: Study, width: int) -> Iterator[Line]:
    yield ((clipped(what_ran(study), width), "bold"),)
    yield ((clipped(f"[{shown(study.source)}]", width), "dim"),)
    for statement in study.in_short:
        yield from (((line, "bold"),) for line in wrapped(shown(statement.text), width))


def _answers(study: Study, width: int) -> Iterator[Line]:
    for number, question in QUESTIONS.items():
        texts = [one.text for one in study.conclusion if one.question == number]
        yield (("", ""),)
        yield ((f"{number}. {question}", "bold"),)
        for text in texts or ["Not known: nothing was recorded that would tell."]:
            for index, line in enumerate(wrapped(shown(text), width - 4)):
                yield ((f"{INDENT}{'· ' if index == 0 else '  '}{line}", ""),)


def _figures(study: Study, width: int) -> Iterator[Line]:
    size = min(WHAT_WIDTH, width - 2 * STUDY_WIDTH)
    yield (("", ""),)
    yield (("Beside the 2023 study".ljust(size + 2), "bold"), ("study".ljust(STUDY_WIDTH), "bold"), ("here", "bold"))
    for what, theirs, ours, note in figures(study):
        columns = (_hanging(wrapped(what, size - len(INDENT))), [theirs], wrapped(ours, width - size - 2 - STUDY_WIDTH))
        for left, middle, right in zip_longest(*columns, fillvalue=""):
            yield ((left.ljust(size + 2), ""), (middle.ljust(STUDY_WIDTH), "dim"), (right, ""))
        for line in wrapped(note, width - 2) if note else ():
            yield ((INDENT + line, "dim"),)
    for text in (f"study: {SOURCE}", CAVEAT):
        for line in wrapped(text, width - 2):
            yield ((INDENT + line, "dim"),)


def _hanging(texts: list[str]) -> list[str]:
    return [text if index == 0 else INDENT + text for index, text in enumerate(texts)]


def _unknown(study: Study, width: int) -> Iterator[Line]:
    if study.not_known:
        yield (("", ""),)
        yield (("Not known", "bold"),)
    for text in study.not_known:
        for index, line in enumerate(wrapped(shown(text), width - 4)):
            yield ((f"{INDENT}{'· ' if index == 0 else '  '}{line}", ""),)
