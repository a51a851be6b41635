"""The app: `streamlit run app.py`. Navigation and nothing else."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shell.sidebar import sidebar

# Files of ours: an icon by name would be fetched from elsewhere.
IMAGES = Path(__file__).parent / "pages" / "shell"
st.set_page_config(page_title="stepscope", page_icon=str(IMAGES / "icon.svg"), layout="wide")
st.logo(str(IMAGES / "logo.svg"), size="large")
page = st.navigation(
    [
        st.Page("pages/overview.py", title="Overview", icon=":material/speed:", default=True),
        st.Page("pages/findings.py", title="Findings", icon=":material/search:"),
        st.Page("pages/timeline.py", title="Timeline", icon=":material/view_timeline:"),
        st.Page("pages/telemetry.py", title="Telemetry", icon=":material/monitoring:"),
        st.Page("pages/tables.py", title="Tables", icon=":material/table:"),
        st.Page("pages/data_quality.py", title="Data quality", icon=":material/fact_check:"),
        st.Page("pages/catalogue.py", title="Catalogue", icon=":material/menu_book:"),
        st.Page("pages/open.py", title="Open another", icon=":material/folder_open:"),
    ]
)
sidebar()
page.run()
