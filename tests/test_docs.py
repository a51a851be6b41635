"""The documents speak of what exists: files, commands, extras, and the code they quote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyze.options import COMMANDS

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _tree_paths() -> list[str]:
    """Paths of the README's file tree: indented entries lie in the folder above them."""
    block = README.split("## The files")[1].split("```")[1]
    paths, folder = [], ""
    for line in block.strip().splitlines():
        inside, names = line.startswith("  "), re.split(r"\s{2,}", line.strip())[0]
        paths += [folder + name if inside else name for name in names.split(", ")]
        if not inside:
            folder = names if names.endswith("/") else ""
    return paths


@pytest.mark.parametrize("path", _tree_paths())
def test_the_file_tree_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_folder_is_in_the_file_tree() -> None:
    packages = {f"analyze/{folder.parent.name}/" for folder in (ROOT / "analyze").glob("*/__init__.py")}
    assert packages <= set(_tree_paths())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"stepscope {command}" in README


@pytest.mark.parametrize("target", sorted(set(re.findall(r"make (\w+)", README))))
def test_every_make_target_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("https://")]
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_are_named_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:analyze|collect|views|tests|benchmarks|sample_traces)/[\w./]+)`", text))
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_quoted_code_is_the_code() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sources = [*(ROOT / "analyze/findings/detectors").glob("*.py"), *(ROOT / "tests/findings/detectors").glob("*.py")]
    written = [source.read_text(encoding="utf-8") for source in sources]
    for quoted in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        assert any(quoted in source for source in written), quoted


def test_the_changelog_knows_this_version() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert f"## [{version[1]}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
