"""Everything that can be found: what it means, how it is measured, how to fix it, and a real example."""

from __future__ import annotations

import streamlit as st

from analyze import catalogue, examples
from views.shell.detector_text import describes, detector_text

detectors, shown_by = catalogue(), examples()
st.title("Catalogue")
wanted = st.text_input("Search", placeholder="copy, optimizer, memory …").strip().lower()
found = [detector for detector in detectors if describes(detector, wanted)]
st.caption(f"{len(found)} of {len(detectors)} things that stepscope looks for")
for detector in found:
    detector_text(detector, shown_by.get(detector.id))
