from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from collect.import_hooks import on_import

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "freshly_made.py").write_text("VALUE = 41\nVALUE += 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "freshly_made"
    sys.modules.pop("freshly_made", None)


def test_the_action_sees_the_finished_module_once(package: str):
    seen: list[int] = []
    before = list(sys.meta_path)
    on_import(package, lambda module: seen.append(module.VALUE))
    assert seen == []
    module = __import__(package)
    __import__(package)
    assert seen == [42]
    assert sys.meta_path == before
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    assert module.__spec__.loader is module.__loader__


def test_a_module_that_is_there_already_is_acted_on_at_once():
    seen: list[ModuleType] = []
    on_import("json", seen.append)
    assert seen == [sys.modules["json"]]


def test_other_modules_are_left_alone(package: str):
    seen: list[ModuleType] = []
    on_import("never_there", seen.append)
    try:
        __import__(package)
        assert seen == []
        with pytest.raises(ModuleNotFoundError):
            __import__("never_there")
    finally:
        sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "_name", "") != "never_there"]
