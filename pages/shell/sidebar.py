"""The side of every page: what is open, and reading it again."""

from __future__ import annotations

import streamlit as st

from analyze.errors import StepscopeError
from analyze.report.plain_text import shown
from pages.shell.session import current_source, open_source
from pages.shell.source import from_path


def sidebar() -> None:
    """Show what is open."""
    source = current_source()
    if source is None:
        return
    with st.sidebar:
        st.caption("Open now")
        st.text(source.title)
        if source.upload is None and st.button("Read again", help="After the run went on, or the file changed."):
            try:
                open_source(from_path(source.paths[0]))
            except StepscopeError as error:
                st.code(shown(error), language=None, wrap_lines=True)
            else:
                st.rerun()
