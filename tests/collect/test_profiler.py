"""Profiler windows: what a warning from torch must not cost."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from collect.gc_marks import GarbageMarks  # noqa: E402
from collect.profiler import Windows  # noqa: E402


class Warns:
    """A profiler that warns as it is armed, as torch does where cycles lose their events."""

    def prepare_trace(self) -> None:
        warnings.warn("Profiler clears events at the end of each cycle.", UserWarning, stacklevel=1)


def test_a_warning_while_arming_costs_no_window_even_where_warnings_are_errors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Windows, "_create", lambda *_: Warns())
    windows = Windows(GarbageMarks())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        windows.arm("times")
    assert windows.notes == []


def test_a_profiler_that_cannot_be_armed_is_noted(monkeypatch: pytest.MonkeyPatch):
    class Fails:
        def prepare_trace(self) -> None:
            raise RuntimeError("no permission")

    monkeypatch.setattr(Windows, "_create", lambda *_: Fails())
    windows = Windows(GarbageMarks())
    windows.arm("times")
    assert windows.notes == ["the profiler could not be armed for window 'times': no permission"]
