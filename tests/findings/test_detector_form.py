"""Every detector has the same form: two public names, texts for a person, remedies cheapest first, thresholds that say why."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from analyze import engine
from analyze.findings.model import Detector

FOLDER = Path(engine.__file__).parent / "findings" / "detectors"
TESTS = Path(__file__).parent / "detectors"
FILES = sorted(file for file in FOLDER.glob("*.py") if not file.name.startswith("_"))
#: what a number that is compared with, or assumed, is measured in or counts: a word of its name says it
UNITS = {
    *("NS", "US", "MS", "S", "BYTES", "PERCENT", "MHZ", "W", "J", "C", "FLOP", "FLOPS", "BITS"),
    *("SHARE", "FRACTION", "FACTOR", "RATIO", "SPREAD", "EFFICIENCY", "CERTAINTY", "CONFIDENCE", "MULTIPLE"),
    *("COUNT", "TIMES", "STEPS", "CALLS", "SAMPLES", "CORES", "WORKERS", "RANKS", "ELEMENTS", "DIMENSION", "OPS", "KERNELS"),
    *("WARPS", "BLOCKS", "THREADS", "LAUNCHES", "COPIES", "EVENTS", "ROUNDS", "PARAMETERS", "TENSORS", "WAVES", "LANES"),
    *("PROCESSES", "ITERATIONS"),
}
#: remedies that are commands rather than Python
COMMAND = re.compile(r"[$#]|[A-Z_]+=\S|(sudo|nvidia-smi|export|torchrun|numactl|stepscope|lspci|docker|ulimit|fio|iostat) ")


def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _public_names(file: Path) -> list[str]:
    """DETECTOR and the functions anybody may call, in their order."""
    names = []
    for node in _tree(file).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [name for name in names if not name.startswith("_") and (not name.isupper() or name == "DETECTOR")]


def _number_constants(file: Path) -> dict[str, int]:
    """Module constants that hold numbers, with their line."""
    found = {}
    for node in _tree(file).body:
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
            constants = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
            if constants and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in constants):
                names = [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
                found |= dict.fromkeys(names, node.lineno)
    return found


def _detector(file: Path) -> Detector:
    detector = import_module(f"analyze.findings.detectors.{file.stem}").DETECTOR
    assert isinstance(detector, Detector)
    return detector


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def file(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_there_are_detectors() -> None:
    assert len(FILES) >= 3
    assert len(engine.detectors()) == len(FILES)


def test_two_public_names_in_order(file: Path) -> None:
    assert _public_names(file) == ["DETECTOR", "detect"]


def test_the_id_is_the_file_name_with_dashes(file: Path) -> None:
    assert _detector(file).id == file.stem.replace("_", "-")


def test_a_first_line_says_what_the_file_finds(file: Path) -> None:
    assert (ast.get_docstring(_tree(file)) or "").strip()


def test_texts_are_sentences(file: Path) -> None:
    detector = _detector(file)
    for text in (detector.meaning, detector.measured):
        assert text.endswith("."), text
        assert text[0].isupper() or text.startswith("torch."), text
        assert "  " not in text, text
        assert len(text) > 60, text
    assert detector.title[0].isupper()
    assert not detector.title.endswith(".")
    assert len(detector.title) <= 70


def test_it_is_documented_somewhere(file: Path) -> None:
    assert _detector(file).doc.startswith("https://")


def test_remedies_say_what_to_do(file: Path) -> None:
    remedies = _detector(file).fix
    assert remedies
    assert all(remedy.text[0].isupper() and not remedy.text.endswith(".") for remedy in remedies)
    assert len({remedy.text for remedy in remedies}) == len(remedies)


def test_a_remedy_in_code_is_code(file: Path) -> None:
    for remedy in _detector(file).fix:
        if not COMMAND.match(remedy.code):
            ast.parse(remedy.code)


def test_thresholds_carry_their_unit(file: Path) -> None:
    nameless = [name for name in _number_constants(file) if UNITS.isdisjoint(name.split("_"))]
    assert nameless == []


def test_thresholds_say_why(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    silent = [name for name, line in _number_constants(file).items() if not lines[line - 2].startswith("#:")]
    assert silent == []


def test_detect_is_documented_and_asks_by_name(file: Path) -> None:
    detect = import_module(f"analyze.findings.detectors.{file.stem}").detect
    assert detect.__doc__
    assert inspect.signature(detect).return_annotation == "list[Finding]"
    assert inspect.signature(detect).parameters


def test_it_has_a_test_of_its_own(file: Path) -> None:
    assert (TESTS / f"test_{file.stem}.py").is_file()


def test_titles_differ() -> None:
    titles = [_detector(file).title for file in FILES]
    assert len(set(titles)) == len(titles)
