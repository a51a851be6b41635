"""The app in a real browser: open it, upload a trace, read the verdict; nothing leaves this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.traces import trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import BrowserContext, Page

ROOT = Path(__file__).parents[2]
PLANTED = ROOT.parent / "shared" / "planted" / "traces" / "pageable_h2d.bad.pt.trace.json.gz"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
HOSTILE = "<img src=x onerror=alert(1)>[a](javascript:alert(2))"
PATIENCE_MS = 90_000

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium"),
    # Playwright leaves its own event loop to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return int(one.getsockname()[1])


@contextmanager
def _server(cache: Path) -> Iterator[str]:
    """The server as a user starts it, in the project's folder, so that the project's own configuration holds."""
    port = _free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true", "--server.port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"STEPSCOPE_CACHE_DIR": str(cache)}) as server:
        try:
            _wait_for(f"http://localhost:{port}/_stcore/health", server)
            yield f"http://localhost:{port}"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _server(tmp_path_factory.mktemp("cache")) as address:
        yield address


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert server.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the server did not answer")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - where there is no browser it need not be there

    profile = tmp_path_factory.mktemp("profile")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=list(ARGUMENTS), viewport={"width": 1400, "height": 1000}
        )
        context.set_default_timeout(PATIENCE_MS)
        yield context
        context.close()


@pytest.fixture
def page(browser: BrowserContext, address: str) -> Iterator[Page]:
    """A session of its own, that notes what it asks of other machines and every script of a trace that came to run."""
    page = browser.new_page()
    page.strangers, page.alerts = [], []
    page.on("request", lambda request: _is_ours(request.url) or page.strangers.append(request.url))
    page.on("dialog", lambda dialog: (page.alerts.append(dialog.message), dialog.dismiss()))
    page.goto(address)
    yield page
    page.close()


def _is_ours(url: str) -> bool:
    return url.startswith(("http://localhost:", "ws://localhost:", "data:", "blob:"))


def upload(page: Page, name: str, content: bytes) -> None:
    page.get_by_role("tab", name="Upload").click()
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "application/json", "buffer": content})
    page.get_by_role("button", name="Diagnose 1 file").click()


def test_the_first_visitor_may_come_straight_to_a_page(browser: BrowserContext, tmp_path: Path) -> None:
    """A server that knows no page yet takes the address for what it is, not for the name of a file."""
    with _server(tmp_path) as address:
        page = browser.new_page()
        page.goto(f"{address}/ranks")
        page.get_by_role("tab", name="Upload").wait_for()
        assert "not found" not in page.inner_text("body").lower()
        assert page.url.endswith("/ranks")
        page.close()


def test_an_uploaded_trace_is_diagnosed(page: Page) -> None:
    content = PLANTED.read_bytes() if PLANTED.exists() else trace()
    upload(page, "from a colleague.json.gz", content)
    page.get_by_role("heading", level=1).filter(has_text="Copies from pageable memory hold up the step").wait_for()
    page.get_by_text("Gives back").first.wait_for()
    page.get_by_text("exposed copy").first.wait_for()
    page.get_by_text("from a colleague.json.gz").first.wait_for()
    assert page.strangers == []


def test_two_sessions_do_not_see_each_others_uploads(page: Page, browser: BrowserContext, address: str) -> None:
    upload(page, "mine.json.gz", trace())
    page.get_by_text("Gives back").first.wait_for()
    other = browser.new_page()
    other.goto(address)
    other.get_by_role("tab", name="Upload").wait_for()
    assert "mine.json.gz" not in other.inner_text("body")
    upload(other, "theirs.json.gz", trace())
    other.get_by_text("Gives back").first.wait_for()
    assert "mine.json.gz" not in other.inner_text("body")
    assert "theirs.json.gz" in other.inner_text("body")
    other.close()


def test_a_file_that_is_no_trace_is_refused_in_words(page: Page) -> None:
    upload(page, "holiday.json.gz", b"\xff\xd8\xff\xe0 a photograph")
    page.get_by_text("This could not be read").wait_for()
    assert "Traceback" not in page.inner_text("body")
    page.get_by_role("button", name="Open something else").click()
    page.get_by_role("tab", name="Upload").wait_for()


def test_names_in_a_trace_run_nothing(page: Page) -> None:
    upload(page, f"{HOSTILE}.json.gz", trace(kernel_name=HOSTILE))
    page.get_by_text("Gives back").first.wait_for()
    page.get_by_role("link", name="Timeline").click()
    page.get_by_text("The longest in this step").wait_for()
    # Kinds are drawn by their time: the call that waits, the copy, the kernel, launches.
    kernel = page.locator(".js-plotly-plot .bars path").nth(2).bounding_box()
    page.mouse.move(kernel["x"] + kernel["width"] / 2, kernel["y"] + kernel["height"] / 2, steps=4)
    page.locator(".hoverlayer text").filter(has_text="<img src=x onerror=alert(1)>").first.wait_for()
    assert page.alerts == []
    assert page.locator("img[src=x], a[href^=javascript]").count() == 0
    assert page.strangers == []


@pytest.mark.parametrize(("width", "theme"), [(600, "dark"), (1400, "light")])
def test_the_sample_study_is_opened_by_its_path_and_drawn(page: Page, width: int, theme: str) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(color_scheme=theme)
    page.get_by_role("tab", name="By path").click()
    page.get_by_label("Path or address").fill(str(ROOT / "sample_traces" / "study"))
    page.get_by_role("button", name="Open path").click()
    page.get_by_role("heading", name="Study", exact=True).wait_for()
    page.get_by_text("extrapolated from").first.wait_for()
    page.get_by_text("The numbers").wait_for()
    # images a second twice, two charts for the first question, one for each of the next five
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 9")
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.strangers == []
