"""Skips where the compiled reader is not built, and lets tests take it away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analyze.ingest.compiled.library import library

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def compiled() -> None:
    if library() is None:
        pytest.skip("the compiled reader is not built: no C compiler was found at installation")


@pytest.fixture
def pure_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("STEPSCOPE_PURE_PYTHON", "1")
    library.cache_clear()
    yield
    monkeypatch.undo()
    library.cache_clear()
