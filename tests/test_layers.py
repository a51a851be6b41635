"""Who may import whom: ARCHITECTURE.md's table, read from the imports themselves.

Imports for type checking alone are free: a type may be named wherever its values go.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GROUND = tuple(
    f"analyze.{name}"
    for name in (
        "errors",
        "scalars",
        "schema",
        "trace_info",
        "matching",
        "intervals",
        "nesting",
        "resampling",
        "kernel_kinds",
        "hardware",
        "payload",
    )
)
MODEL = "analyze.findings.model"
#: what each part may import of this project beside its own files; the longest matching name is a module's layer
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "analyze": ("analyze.diagnosis", "analyze.engine", "analyze.findings.examples"),
    "analyze.errors": (),
    "analyze.scalars": (),
    "analyze.matching": (),
    "analyze.payload": (),
    "analyze.schema": (),
    "analyze.trace_info": (),
    "analyze.hardware": (),
    "analyze.kernel_kinds": (),
    "analyze.intervals": (),
    "analyze.nesting": ("analyze.intervals",),
    "analyze.resampling": (),
    "analyze.ingest": ("analyze.errors", "analyze.schema", "analyze.trace_info"),
    "analyze.tables": GROUND,
    "analyze.analyses": GROUND,
    "analyze.replay": GROUND,
    # a notebook shows a Report: the page is imported when it does
    MODEL: ("analyze.schema", "analyze.report.html"),
    # what several detectors share: how a saving is sized, how a place is named
    "analyze.findings": (*GROUND, MODEL, "analyze.replay"),
    "analyze.findings.detectors": (*GROUND, "analyze.findings", "analyze.replay"),
    "analyze.engine": ("analyze.errors", "analyze.schema", MODEL),
    "analyze.summary": (*GROUND, MODEL, "analyze.engine"),
    "analyze.next_steps": (MODEL,),
    "analyze.verdict": (MODEL, "analyze.findings.saving"),
    # one rank at a time, wherever it runs
    "analyze.ranks": (*GROUND, "analyze.engine", "analyze.ingest", "analyze.summary"),
    "analyze.diagnosis": (
        *(*GROUND, MODEL, "analyze.findings.saving", "analyze.findings.input_paced", "analyze.findings.shared_device"),
        *(f"analyze.{name}" for name in ("engine", "ingest", "next_steps", "ranks", "replay", "summary", "verdict")),
    ),
    # the second opinion: asks our analyses directly, over the stretch that the other tool looks at
    "analyze.crosscheck": (*GROUND, "analyze.engine", "analyze.ingest", "analyze.analyses"),
    "analyze.comparison": ("analyze.errors", "analyze.scalars", "analyze.resampling", MODEL),
    # many runs held against one another: diagnoses each, then works on small frames
    "analyze.study": (*GROUND, "analyze.ingest", "analyze.diagnosis"),
    "analyze.report": ("analyze.errors", "analyze.schema", MODEL, "analyze.comparison", "analyze.study"),
    "analyze.terminal": ("analyze.report",),
    "analyze.options": ("analyze.errors",),
    # of ingest its limits, which are options
    "analyze.command_files": ("analyze.errors",),
    "analyze.commands": (
        "analyze",
        *(
            f"analyze.{name}"
            for name in ("errors", "command_files", "engine", "comparison", "crosscheck", "report", "study", "terminal", "ingest")
        ),
    ),
    "analyze.cli": ("analyze", *(f"analyze.{name}" for name in ("errors", "options", "commands", "terminal"))),
    "analyze.__main__": ("analyze.cli",),
    "views": ("analyze", "analyze.errors", "analyze.engine", MODEL, "analyze.report", "analyze.study"),
    "app": ("views",),
    "collect": (),
}
#: files of these packages know nothing of one another; a name with an underscore is a part that several share
STRANGERS = ("analyze.tables", "analyze.analyses", "analyze.findings.detectors")
#: of the standard library and what a base install brings; the rest only below the folders that are there for it
HEAVY = ("torch", "torchvision", "streamlit", "plotly", "pandas", "pynvml", "hta", "dask", "distributed")


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _running_nodes(tree: ast.AST) -> list[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING`."""
    nodes, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting += list(node.orelse) if _is_type_checking(node) else list(ast.iter_child_nodes(node))
    return nodes


def _imports(file: Path) -> set[str]:
    found = set()
    for node in _running_nodes(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            found |= {_module(node.module or "", name.name) for name in node.names}
    return found


def _module(package: str, name: str) -> str:
    """`from package import name`, where name may be a module of the package."""
    path = ROOT.joinpath(*package.split("."))
    return f"{package}.{name}" if (path / f"{name}.py").exists() or (path / name).is_dir() else package


def _is_of(module: str, name: str) -> bool:
    """Whether a module is called so or lies below it; `analyze` stands for itself alone."""
    return module == name or (name != "analyze" and module.startswith(f"{name}."))


def _layer(module: str) -> str:
    return max((name for name in MAY_IMPORT if _is_of(module, name)), key=len, default="none")


def _may(importer: str, imported: str) -> bool:
    layer = _layer(importer)
    return _layer(imported) == layer or any(_is_of(imported, name) for name in MAY_IMPORT[layer])


def _source_files() -> dict[str, Path]:
    files = [ROOT / "app.py", *(file for folder in ("analyze", "collect", "views") for file in (ROOT / folder).rglob("*.py"))]
    named = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return dict(sorted(named.items()))


FILES = _source_files()


@pytest.mark.parametrize("module", FILES)
def test_imports_stay_within_what_its_layer_may_know(module: str) -> None:
    ours = {name for name in _imports(FILES[module]) if name.split(".")[0] in {"analyze", "collect", "views", "app"}}
    assert {name for name in ours if not _may(module, name)} == set()


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("analyze.analyses.gpu_gaps", "analyze.ingest.read"),
        ("analyze.analyses.gpu_gaps", "analyze.tables.kernels"),
        ("analyze.findings.detectors.launch_bound", "analyze.analyses.gpu_gaps"),
        ("analyze.report.text", "analyze.engine"),
        ("analyze.ingest.read", "analyze.tables.steps"),
        ("analyze.replay.replay", "analyze.findings.model"),
        ("collect.recorder", "analyze"),
        ("analyze.ingest.run_files", "collect.run_directory"),
        ("views.overview", "analyze.diagnosis"),
        ("app", "analyze"),
    ],
)
def test_what_the_table_is_there_to_prevent(importer: str, imported: str) -> None:
    assert not _may(importer, imported)


@pytest.mark.parametrize("module", [name for name in FILES if name.rpartition(".")[0].startswith(STRANGERS)])
def test_one_question_does_not_import_another(module: str) -> None:
    package = next(name for name in STRANGERS if module.startswith(name))
    others = {name for name in _imports(FILES[module]) if name.startswith(f"{package}.")}
    assert {name for name in others if not name.rpartition(".")[2].startswith("_")} == set()


@pytest.mark.parametrize("module", [name for name in FILES if name.startswith("analyze")])
def test_analyze_never_imports_what_a_laptop_lacks(module: str) -> None:
    needed = {name.split(".")[0] for name in _imports(FILES[module])}
    # crosscheck is there for another tool, the cluster for Dask, and both import it when asked to
    extras = {"analyze.crosscheck": {"hta", "pandas"}, "analyze.ranks.cluster": {"distributed"}}
    allowed = next((names for part, names in extras.items() if _is_of(module, part)), set())
    assert needed & {*HEAVY, "collect"} <= allowed


def test_every_file_has_a_layer_and_every_layer_a_file() -> None:
    assert {_layer(module) for module in FILES} == MAY_IMPORT.keys()


@pytest.mark.parametrize("statement", ["import analyze", "import analyze.diagnosis, analyze.engine; analyze.catalogue()"])
def test_analyze_imports_where_torch_streamlit_and_pandas_are_missing(statement: str) -> None:
    # None in sys.modules makes an import fail as a missing package does
    blocked = f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{blocked}; {statement}"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_import_analyze_loads_nothing_that_it_may_not_need() -> None:
    script = "import sys, analyze; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert set(done.stdout.split()).isdisjoint({*HEAVY, "polars", "numpy"})
