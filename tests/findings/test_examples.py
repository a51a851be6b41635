"""The examples that are shown are what the sample runs give today; python -m benchmarks.examples writes them anew."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

import analyze
from analyze.report.example_text import IT_TAKES
from benchmarks import examples

ROOT = Path(__file__).parents[2]
RUNS = examples.sample_runs()
NAMES = [run.relative_to(examples.SAMPLES).as_posix() for run in RUNS]
STUDY = examples.SAMPLES / "study"
CELLS = sorted(path.parent for path in STUDY.glob("*/manifest.0.json"))
LARGEST_STUDY_BYTES = 6_000_000
#: less than a person would see as another number, more than arithmetic differs by from one machine to another
TOLERANCE = 0.02
LARGEST_BYTES = 2_000_000
#: folders of a machine, as they begin
MACHINE_FOLDER = re.compile(rb"(?<![\w.:/\\-])/(?:home|root|tmp|work|opt|usr|var|mnt|Users)/")


@pytest.mark.slow
def test_the_stored_examples_are_what_the_sample_runs_give() -> None:
    stored, today = analyze.examples(), examples.gathered()
    assert {detector: example.run for detector, example in today.items()} == {
        detector: example.run for detector, example in stored.items()
    }
    assert {detector: example.saving_ms for detector, example in today.items()} == {
        detector: example.saving_ms if example.saving_ms is None else pytest.approx(example.saving_ms, rel=TOLERANCE)
        for detector, example in stored.items()
    }


def test_examples_are_of_known_detectors_and_sorted() -> None:
    assert list(analyze.examples()) == sorted(analyze.examples())
    assert analyze.examples().keys() <= {detector.id for detector in analyze.catalogue()}


def test_a_detector_without_an_example_says_what_one_takes() -> None:
    without = {detector.id for detector in analyze.catalogue()} - analyze.examples().keys()
    assert set(IT_TAKES) == without


def test_every_examples_run_is_there() -> None:
    assert {example.run for example in analyze.examples().values()} <= {f"sample_traces/{name}" for name in NAMES}


def test_a_saving_lies_within_its_bounds_and_the_step() -> None:
    savings = [example for example in analyze.examples().values() if example.saving_ms is not None]
    assert savings
    for example in savings:
        assert example.low_ms is not None
        assert example.high_ms is not None
        assert 0 <= example.low_ms <= example.saving_ms <= example.high_ms <= example.step_ms, example


def test_the_readme_of_the_sample_runs_lists_each() -> None:
    rows = re.findall(r"^\| `([\w/-]+)` \|", (ROOT / "sample_traces/README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == NAMES


@pytest.mark.parametrize("run", RUNS, ids=NAMES)
def test_a_sample_run_is_small(run: Path) -> None:
    assert sum(file.stat().st_size for file in run.iterdir()) < LARGEST_BYTES


def test_the_sample_study_is_small_and_its_cells_are_no_examples() -> None:
    assert len(CELLS) == 8
    assert set(CELLS).isdisjoint(RUNS)
    assert sum(file.stat().st_size for file in STUDY.rglob("*") if file.is_file()) < LARGEST_STUDY_BYTES


@pytest.mark.parametrize("run", [*RUNS, STUDY, *CELLS], ids=lambda run: run.relative_to(examples.SAMPLES).as_posix())
def test_a_sample_run_names_no_folder_of_a_machine(run: Path) -> None:
    for file in filter(Path.is_file, run.iterdir()):
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        assert MACHINE_FOLDER.search(content) is None, file
