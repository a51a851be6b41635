from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from collect.script import UnusableScriptError, parse_script
from tests.collect.conftest import ROOT, Run, environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytest.importorskip("torch")

#: a loop that knows nothing of a recorder: accumulation over two batches, an evaluation after each epoch
TRAIN = """
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset

def main():
    model = torch.nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = TensorDataset(torch.randn(160, 16), torch.randint(0, 4, (160,)))
    for epoch in range(6):
        for number, (x, y) in enumerate(DataLoader(data, batch_size=8, shuffle=True)):
            (torch.nn.functional.cross_entropy(model(x), y) / 2).backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
        for x, y in DataLoader(data, batch_size=160):
            model(x)
    print("argv", sys.argv, "name", __name__, "path", sys.path[0])

if __name__ == "__main__":
    main()
"""
#: what the console script does
CONSOLE = "import sys; from collect.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def stepscope(
    tmp_path: Path, python: Callable[..., subprocess.CompletedProcess[str]]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call `stepscope collect`, in a folder of the user's own."""
    console = tmp_path / "bin" / "stepscope"
    console.parent.mkdir()
    console.write_text(CONSOLE)
    home = tmp_path / "home"
    home.mkdir()
    return lambda *arguments, **options: python(str(console), *arguments, cwd=home, **options)


def write(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "home" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_a_script_is_recorded_unchanged(tmp_path: Path, stepscope, recorded: Run):
    write(tmp_path, "train.py", TRAIN)
    done = stepscope(
        "--out",
        str(recorded.out),
        "--baseline-steps",
        "9",
        "--expect-steps",
        "60",
        "--no-telemetry",
        "--",
        "train.py",
        "--lr",
        "3",
    )
    assert done.returncode == 0, done.stderr
    assert f"argv ['train.py', '--lr', '3'] name __main__ path {tmp_path / 'home'}" in done.stdout
    steps = recorded.steps()
    assert len(steps) == 6 * 10
    assert {s["samples"] for s in steps} == {16}
    manifest = recorded.manifest()
    assert (manifest["label"], manifest["workload"], manifest["batch_size"]) == ("train", "script", 16)
    assert [w["name"] for w in manifest["windows"]] == ["times", "explanations"]
    first, last = manifest["windows"][0]["first_step"], manifest["windows"][0]["last_step"]
    # an epoch is ten steps: the window lies within one
    assert last - first == 4
    assert first // 10 == last // 10
    assert recorded.annotated_steps("times") == list(range(first, last + 1))


def test_a_script_that_fails_fails_with_its_own_traceback_and_status(tmp_path: Path, stepscope, recorded: Run):
    write(tmp_path, "fail.py", "def inner():\n    raise ValueError('planned')\ninner()\n")
    done = stepscope("--out", str(recorded.out), "--no-telemetry", "--", "fail.py")
    assert done.returncode == 1
    trace = done.stderr[done.stderr.index("Traceback") :]
    assert trace == (
        "Traceback (most recent call last):\n"
        '  File "fail.py", line 3, in <module>\n    inner()\n'
        "  File \"fail.py\", line 2, in inner\n    raise ValueError('planned')\n"
        "ValueError: planned\n"
    )
    assert recorded.manifest()["exit"] == {"status": "failed", "code": 1, "message": "ValueError: planned"}


@pytest.mark.parametrize(
    ("ending", "status", "stderr"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit('no data')", 1, "no data\n"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ],
)
def test_exit_status_is_the_scripts(tmp_path: Path, stepscope, recorded: Run, ending: str, status: int, stderr: str):
    write(tmp_path, "end.py", f"import sys\n{ending}\n")
    done = stepscope("--out", str(recorded.out), "--no-telemetry", "--", "end.py")
    assert done.returncode == status
    assert stderr in done.stderr
    manifest = recorded.manifest()
    assert manifest["exit"]["code"] == status
    assert recorded.steps() == []


def test_a_module_runs_as_python_m_would_run_it(tmp_path: Path, stepscope, recorded: Run):
    write(tmp_path, "job/__init__.py", "")
    write(tmp_path, "job/train.py", "import sys\nprint(__name__, __package__, sys.argv[1:], sys.path[0])\n")
    done = stepscope("--out", str(recorded.out), "--no-telemetry", "--", "-m", "job.train", "a", "--out", "b")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"__main__ job ['a', '--out', 'b'] {tmp_path / 'home'}\n"
    assert recorded.manifest()["label"] == "job.train"
    assert "no optimizer step was seen in this process: nothing was timed or profiled" in recorded.manifest()["notes"]


def test_a_script_keeps_its_own_collect_and_analyze(tmp_path: Path, stepscope, recorded: Run):
    write(tmp_path, "collect.py", "NAME = 'mine'\n")
    write(tmp_path, "analyze/__init__.py", "NAME = 'mine too'\n")
    write(tmp_path, "train.py", "import collect, analyze\nprint(collect.NAME, analyze.NAME)\n" + TRAIN)
    done = stepscope("--out", str(recorded.out), "--expect-steps", "60", "--", "train.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mine mine too\n")
    assert len(recorded.manifest()["windows"]) == 2
    assert len(recorded.telemetry()) > 1


def test_several_optimizers_make_one_step_of_a_round(tmp_path: Path, stepscope, recorded: Run):
    write(
        tmp_path,
        "gan.py",
        "import torch\n"
        "a, b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)\n"
        "critic, generator = torch.optim.Adam(a.parameters()), torch.optim.SGD(b.parameters(), 0.1)\n"
        "for _ in range(12):\n"
        "    for net, optimizer in ((a, critic), (b, generator)):\n"
        "        net(torch.randn(2, 4)).sum().backward(); optimizer.step()\n",
    )
    done = stepscope("--out", str(recorded.out), "--no-telemetry", "--", "gan.py")
    assert done.returncode == 0, done.stderr
    assert len(recorded.steps()) == 12


def test_sigterm_leaves_a_readable_run_and_its_status(tmp_path: Path, recorded: Run):
    write(
        tmp_path,
        "long.py",
        "import time, torch\n"
        "m = torch.nn.Linear(4, 4); o = torch.optim.SGD(m.parameters(), 0.1)\n"
        "while True:\n"
        "    m(torch.randn(2, 4)).sum().backward(); o.step(); time.sleep(0.01)\n",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "collect", "--out", str(recorded.out), "--", str(tmp_path / "home" / "long.py")],
        cwd=ROOT,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    with process, process.stderr:
        for line in process.stderr:
            if "measuring" in line:
                break
        os.kill(process.pid, signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(30) == 143
    assert "Traceback" not in said
    assert recorded.manifest()["exit"] == {"status": "terminated", "code": 143, "message": None}
    assert len(recorded.steps()) >= 7
    assert len(recorded.telemetry()) > 1


def test_workload_options_with_a_script_and_missing_scripts_are_refused_in_a_line(stepscope):
    done = stepscope("--batch-size", "8", "--", "train.py")
    assert (done.returncode, done.stderr) == (
        2,
        "stepscope collect: --batch-size belongs to the built-in workload; give a script's own options after its name\n",
    )
    done = stepscope("--", "missing.py")
    assert (done.returncode, done.stderr) == (2, "stepscope collect: missing.py: no such file\n")
    done = stepscope("--")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_script_and_module_are_told_apart():
    module = parse_script(["-m", "pkg.train", "--x", "-m"])
    assert (module.name, module.is_module, module.arguments, module.label) == ("pkg.train", True, ("--x", "-m"), "pkg.train")
    with pytest.raises(UnusableScriptError):
        parse_script(["-m"])
