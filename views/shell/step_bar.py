"""Where the step goes, drawn: one bar of labelled segments, and what each is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from analyze.report.charts.colours import text_on
from views.shell.markup import safe

if TYPE_CHECKING:
    from analyze.report.charts.step_bar import Segment

#: share of the bar below which a segment has no room for its label; the list under the bar still names it
LABELLED = 0.12
BAR = "display:flex;width:100%;height:3.1rem;border-radius:.4rem;overflow:hidden;gap:1px"
SEGMENT = "min-width:2px;padding:.35rem 0;overflow:hidden;white-space:nowrap;font-size:.88rem;line-height:1.2rem"
LABEL = "padding:0 .55rem;overflow:hidden;text-overflow:ellipsis"
KEY = "display:flex;flex-wrap:wrap;gap:.35rem 1.4rem;margin-top:.6rem;font-size:.95rem;line-height:1.4"
SWATCH = "display:inline-block;width:.75rem;height:.75rem;border-radius:.15rem;margin-right:.4rem"


def step_bar(segments: tuple[Segment, ...], total_ms: str, where: str) -> None:
    """Draw the segments and their sum."""
    spoken = safe(", ".join(f"{one.name} {one.ms} ms" for one in segments))
    drawn = "".join(_drawn(one) for one in segments if one.width > 0)
    named = "".join(_named(one) for one in segments)
    total = f"<span><b>= {safe(total_ms)} ms</b> mean step, {safe(where)}</span>"
    bar = f'<div role="img" aria-label="{spoken}" style="{BAR}">{drawn}</div>'
    st.html(f'{bar}<div style="{KEY}">{named}{total}</div>')


def _drawn(one: Segment) -> str:
    style = f"{SEGMENT};width:{one.width * 100:.3f}%;background:{one.colour};color:{text_on(one.colour)}"
    name, amount = safe(one.name), f"{one.ms} ms, {one.share}"
    label = f'<div style="{LABEL}"><b>{name}</b><br>{amount}</div>' if one.width >= LABELLED else ""
    return f'<div title="{name} {amount}" style="{style}">{label}</div>'


def _named(one: Segment) -> str:
    swatch = f'<span style="{SWATCH};background:{one.colour}"></span>'
    share = f' <span style="opacity:.72">{one.share}</span>' if one.share else ""
    return f'<span style="white-space:nowrap">{swatch}{safe(one.name)} <b>{one.ms} ms</b>{share}</span>'
