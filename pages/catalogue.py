"""Everything that can be found: what it means, how it is measured, how to fix it."""

from __future__ import annotations

import streamlit as st

from analyze import catalogue
from pages.shell.markup import line, prose

detectors = catalogue()
st.title("Catalogue")
wanted = st.text_input("Search", placeholder="copy, optimizer, memory …").strip().lower()
for detector in detectors:
    words = [
        detector.id,
        detector.title,
        detector.meaning,
        detector.measured,
        *(remedy.text for remedy in detector.fix),
    ]
    if wanted not in " ".join(words).lower():
        continue
    with st.container(border=True):
        line(detector.title, size="1.15rem", weight=650, tag="h3")
        line(detector.id, size=".92rem", faint=True)
        prose(detector.meaning)
        line("How it is measured", weight=600)
        prose(detector.measured)
        line("How to fix it, cheapest first", weight=600)
        for remedy in detector.fix:
            prose(remedy.text)
            if remedy.code:
                st.code(remedy.code, language="python", wrap_lines=True)
        st.link_button("Documentation", detector.doc)
