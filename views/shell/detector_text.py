"""What a detector is about, as one piece of text: dozens of them stand on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from analyze.report import example_text
from views.shell.markup import coded, safe

if TYPE_CHECKING:
    from analyze.findings.examples import Example
    from analyze.findings.model import Detector, Remedy

BOX = "border:1px solid rgba(128,138,155,.35);border-radius:.4rem;padding:1rem 1.2rem;line-height:1.5"
TITLE = "font-size:1.15rem;font-weight:650;margin:0;padding:0"
LABEL = "font-weight:600;margin-top:.7rem"
CODE = "background:rgba(128,138,155,.13);border-radius:.4rem;padding:.55rem .8rem;margin:.3rem 0 .5rem;overflow-x:auto"


def describes(detector: Detector, words: str) -> bool:
    """Whether what is said about a detector holds these words, given in lower case."""
    remedies = [piece for remedy in detector.fix for piece in (remedy.text, remedy.code)]
    return words in " ".join([detector.id, detector.title, detector.meaning, detector.measured, *remedies]).lower()


def detector_text(detector: Detector, example: Example | None) -> None:
    """Show what a detector is about, and what it found on a sample run."""
    link = f'<a href="{safe(detector.doc)}" target="_blank" rel="noopener noreferrer">{safe(detector.doc)}</a>'
    pieces = [
        f'<h3 style="{TITLE}">{safe(detector.title)}</h3><div style="opacity:.7">{safe(detector.id)}</div>',
        f"<div>{coded(detector.meaning)}</div>",
        f'<div style="{LABEL}">How it is measured</div><div>{coded(detector.measured)}</div>',
        f'<div style="{LABEL}">How to fix it, cheapest first</div>',
        *map(_remedy, detector.fix),
        f'<div style="{LABEL}">An example</div>{_example(detector, example)}',
        f'<div style="{LABEL}">Where it is documented</div><div style="overflow-wrap:anywhere">{link}</div>',
    ]
    st.html(f'<section style="{BOX}">{"".join(pieces)}</section>')


def _remedy(remedy: Remedy) -> str:
    code = f'<pre style="{CODE}"><code>{_lines(remedy.code)}</code></pre>' if remedy.code else ""
    return f"<div>{coded(remedy.text)}</div>{code}"


def _example(detector: Detector, example: Example | None) -> str:
    if example is None:
        return f"<div>{safe(example_text.none(detector.id))}</div>"
    said = "".join(f'<div style="overflow-wrap:anywhere">{safe(sentence)}</div>' for sentence in example_text.sentences(example))
    return f'{said}<pre style="{CODE}"><code>{safe(example_text.command(example))}</code></pre>'


def _lines(code: str) -> str:
    """Code of several lines as HTML."""
    return "\n".join(safe(line) for line in code.splitlines())
