"""A few numbers side by side, large, each with what it is and what to know about it."""

from __future__ import annotations

import streamlit as st

from views.shell.markup import safe

GRID = "display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:1rem 1.5rem;margin:.3rem 0 .2rem"
VALUE = "font-size:1.75rem;font-weight:600;line-height:1.25;font-variant-numeric:tabular-nums;white-space:nowrap"
SMALL = "font-size:.88rem;line-height:1.35;opacity:.75"


def numbers(shown: list[tuple[str, str, str]]) -> None:
    """Show (label, value, note) rows."""
    cells = (
        f'<div><div style="{SMALL}">{safe(label)}</div><div style="{VALUE}">{safe(value)}</div>'
        f'<div style="{SMALL}">{safe(note)}</div></div>'
        for label, value, note in shown
    )
    st.html(f'<div style="{GRID}">{"".join(cells)}</div>')
