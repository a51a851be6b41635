"""The app run without a browser, a finished diagnosis put in the place of the process that makes one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.fakes import Finished
from views.shell import session
from views.shell.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.findings.model import Report

APP = Path(__file__).parents[2] / "app.py"
OVERVIEW = "views/overview.py"
PAGES = ("overview", "findings", "timeline", "ranks", "telemetry", "tables", "data_quality", "catalogue", "open")


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    """Return a function that runs a page with this report open, or with what else a diagnosis may be."""

    def run(report: Report | Finished | None, page: str = "overview", **source: Any) -> AppTest:
        at = AppTest.from_file(str(APP), default_timeout=20)
        if report is not None:
            finished = report if isinstance(report, Finished) else Finished(report)
            monkeypatch.setattr(session, "diagnosis", lambda *_: finished)
            at.session_state[session.SOURCE] = Source(**{"key": "k", "paths": ("/runs/one",), "title": "one", **source})
        at.run()
        return at if page == "overview" else at.switch_page(f"views/{page}.py").run()

    return run


def words(at: AppTest) -> str:
    """Everything that the page says, tags of our own HTML taken away but what is escaped left escaped."""
    elements = [*at.html, *at.text, *at.code, *at.markdown, *at.caption, *at.title, *at.subheader, *at.button, *at.error]
    return "\n".join(str(getattr(one, "label", "") or one.value if hasattr(one, "value") else one.body) for one in elements)
