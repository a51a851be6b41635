"""Text of unknown origin on a page: escaped, never read as HTML or markdown."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from analyze.report.plain_text import shown

CODE = re.compile(r"`([^`]+)`")


def safe(text: object) -> str:
    """Return the text as HTML that shows it as it stands."""
    return escape(shown(text))


def line(text: object, *, size: str = "1rem", weight: int = 400, faint: bool = False, tag: str = "div") -> None:
    """Show one paragraph."""
    style = f"font-size:{size};font-weight:{weight};line-height:1.45;margin:0;padding:0;overflow-wrap:anywhere;text-wrap:pretty;"
    st.html(f'<{tag} style="{style}{"opacity:.72;" if faint else ""}">{safe(text)}</{tag}>')


def prose(text: str) -> None:
    """Show our own prose, with what stands between backticks as code."""
    st.html(f'<div style="line-height:1.5;overflow-wrap:anywhere">{coded(text)}</div>')


def coded(text: str) -> str:
    """Return our own prose as HTML, with what stands between backticks as code."""
    return CODE.sub(_code, safe(text))


def bullets(items: list[str]) -> None:
    """Show a list."""
    rows = "".join(f"<li>{safe(item)}</li>" for item in items)
    st.html(f'<ul style="margin:0;padding-left:1.2rem;line-height:1.5;overflow-wrap:anywhere">{rows}</ul>')


def _code(found: re.Match[str]) -> str:
    return f'<code style="font-size:.9em">{found[1]}</code>'
