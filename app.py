"""The app: `streamlit run app.py`. Navigation and nothing else."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from views.shell.sidebar import sidebar

# Files of ours: an icon by name would be fetched from elsewhere.
IMAGES = Path(__file__).parent / "views" / "shell"
PAGES = (
    ("overview", "Overview", ":material/speed:"),
    ("findings", "Findings", ":material/search:"),
    ("timeline", "Timeline", ":material/view_timeline:"),
    ("ranks", "Ranks", ":material/lan:"),
    ("telemetry", "Telemetry", ":material/monitoring:"),
    ("tables", "Tables", ":material/table:"),
    ("data_quality", "Data quality", ":material/fact_check:"),
    ("study", "Study", ":material/compare:"),
    ("catalogue", "Catalogue", ":material/menu_book:"),
    ("open", "Open another", ":material/folder_open:"),
)

st.set_page_config(page_title="stepscope", page_icon=str(IMAGES / "icon.svg"), layout="wide")
st.logo(str(IMAGES / "logo.svg"), size="large")
pages = [st.Page(f"views/{file}.py", title=title, icon=icon, default=file == "overview") for file, title, icon in PAGES]
page = st.navigation(pages)
sidebar()
page.run()
