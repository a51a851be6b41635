"""What is installed: the wheel's contents, what it depends on, and commands that find ours beside a user's own files."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: distribution by the module it brings, where the two differ
DISTRIBUTION = {"pynvml": "nvidia-ml-py", "PIL": "torchvision", "yaml": "pyyaml", "hta": "holistictraceanalysis"}


def _run(*command: str, cwd: Path, timeout_s: int = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=timeout_s
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of this checkout, built in a folder of its own."""
    pytest.importorskip("hatchling", reason="hatchling is not installed: the wheel is built without a network")
    target = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(target))
    built = _run(sys.executable, "-m", "pip", "wheel", *options, str(ROOT), cwd=target)
    assert built.returncode == 0, built.stderr
    return zipfile.ZipFile(next(target.glob("stepscope-*.whl")))


def test_the_wheel_holds_every_source_file(wheel: zipfile.ZipFile) -> None:
    sources = {str(file.relative_to(ROOT)) for folder in ("analyze", "collect") for file in (ROOT / folder).rglob("*.py")}
    assert sources <= set(wheel.namelist())


def test_the_wheel_holds_the_app(wheel: zipfile.ZipFile) -> None:
    pages = {f"stepscope_app/{file.relative_to(ROOT)}" for file in (ROOT / "views").rglob("*.py")}
    assert {"stepscope_app/app.py", "stepscope_app/.streamlit/config.toml", *pages} <= set(wheel.namelist())


def test_the_wheel_holds_templates_and_icons(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {str(file.relative_to(ROOT)) for file in (ROOT / "analyze/report/templates").iterdir() if file.is_file()} <= names
    assert {f"stepscope_app/{file.relative_to(ROOT)}" for file in (ROOT / "views").rglob("*.svg")} <= names


def test_the_wheel_holds_the_examples(wheel: zipfile.ZipFile) -> None:
    assert "analyze/findings/examples.json" in wheel.namelist()


def test_the_wheel_takes_no_common_name(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"analyze", "collect", "stepscope_app"}


def test_the_wheel_carries_the_licence(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def _third_party(folder: str) -> set[str]:
    found = set()
    for file in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    # typing_extensions is named for type checkers alone
    return found - set(sys.stdlib_module_names) - {"analyze", "collect", "views", "typing_extensions"}


def _required(*extras: str) -> set[str]:
    optional = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in optional[extra])]
    return {text.split(">")[0].split("=")[0].split("<")[0].strip().lower() for text in texts}


@pytest.mark.parametrize(("folder", "extras"), [("analyze", ("hta", "cluster")), ("collect", ("train",)), ("views", ("app",))])
def test_what_is_imported_is_declared(folder: str, extras: tuple[str, ...]) -> None:
    needed = {DISTRIBUTION.get(name, name).lower() for name in _third_party(folder)}
    assert needed - _required(*extras) == set()


def test_a_base_install_brings_no_torch() -> None:
    assert _required().isdisjoint({"torch", "torchvision", "streamlit", "pandas", "dask"})


@pytest.fixture
def someones_folder(tmp_path: Path) -> Path:
    """A folder with a `collect.py` and an `analyze/` of the user's own, which must not be run."""
    (tmp_path / "collect.py").write_text('raise SystemExit("the user\'s own collect.py ran")\n')
    (tmp_path / "analyze").mkdir()
    (tmp_path / "analyze" / "__init__.py").write_text('raise SystemExit("the user\'s own analyze ran")\n')
    return tmp_path


def _stepscope() -> str:
    script = Path(sys.executable).parent / "stepscope"
    if not script.exists():
        pytest.skip("stepscope is not installed in this environment")
    return str(script)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("detectors",), "pageable-copy"),
        (("explain", "pageable-copy"), "pin_memory=True"),
        (("collect", "--help"), "stepscope collect"),
        (("--version",), "stepscope "),
    ],
)
def test_the_console_script_is_ours_in_a_folder_that_holds_a_collect_and_an_analyze(
    someones_folder: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = _run(_stepscope(), *arguments, cwd=someones_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


def test_a_script_recorded_there_imports_its_own_collect(someones_folder: Path) -> None:
    pytest.importorskip("torch")
    (someones_folder / "collect.py").write_text("WHOSE = 'mine'\n")
    (someones_folder / "train.py").write_text("import collect\nprint('imported', collect.WHOSE)\n")
    options = ("--no-telemetry", "--no-profile", "--out", str(someones_folder / "run"))
    done = _run(_stepscope(), "collect", *options, "--", "train.py", cwd=someones_folder)
    assert "imported mine" in done.stdout, done.stderr


@pytest.mark.parametrize(("module", "said"), [("analyze", "report"), ("collect", "--batch-size")])
def test_the_module_forms_work_elsewhere(tmp_path: Path, module: str, said: str) -> None:
    done = _run(sys.executable, "-m", module, "--help", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout
