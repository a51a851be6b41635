from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from collect import Recorder
from collect.progress import Silence
from tests.collect.conftest import ROOT, Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

torch = pytest.importorskip("torch")


def tiny_step() -> Callable[[Any], Any]:
    model = torch.nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(batch: Any) -> Any:
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def quick(out: Path, **options: Any) -> Recorder:
    return Recorder(out, telemetry=False, progress=Silence(), **options)


def batches(count: int) -> list[Any]:
    return [torch.randn(8, 16) for _ in range(count)]


def test_a_loop_of_known_length_is_recorded_whole(recorded: Run):
    step = tiny_step()
    with quick(recorded.out, steps=40, label="tiny", precision="fp32") as recorder:
        for batch in recorder.watch(batches(40)):
            recorder.step(loss=step(batch))
        assert recorder.done
    assert recorded.phases() == "S" * 5 + "B" * 9 + "WWWW" + "TTTTT" + "WWW" + "EE" + "WW" + "B" * 9 + "I"
    steps = recorded.steps()
    assert [s["step"] for s in steps] == list(range(40))
    assert all(s["samples"] == 8 and s["dur_ns"] > 0 and s["loss"] > 0 for s in steps)
    manifest = recorded.manifest()
    assert manifest["exit"] == {"status": "done", "code": 0, "message": None}
    assert (manifest["label"], manifest["batch_size"], manifest["device"]) == ("tiny", 8, "cpu")
    assert [(w["name"], w["first_step"], w["last_step"]) for w in manifest["windows"]] == [
        ("times", 18, 22),
        ("explanations", 26, 27),
    ]
    assert manifest["settled_at_step"] == 5
    assert (manifest["threads"], manifest["interop_threads"]) == (torch.get_num_threads(), torch.get_num_interop_threads())
    assert manifest["local_world_size"] == 1


def test_a_run_that_ends_before_it_settles_does_not_know_its_threads(recorded: Run):
    with quick(recorded.out, profile=False) as recorder:
        recorder.step()
    assert recorded.manifest()["threads"] is None


def waits(run: Run) -> list[int]:
    """How often each window's trace shows a wait for input under our name."""
    return [sum(e.get("name") == "stepscope.input_wait" for e in run.trace(name)) for name in ("times", "explanations")]


def test_the_wait_for_a_batch_is_named_in_a_trace_where_the_loader_does_not_do_it(recorded: Run):
    step = tiny_step()
    with quick(recorded.out, steps=40) as recorder:
        for batch in recorder.watch(batches(40)):
            recorder.step(loss=step(batch))
    assert waits(recorded) == [5, 2]


def test_a_loader_of_torch_names_its_own_waits(recorded: Run):
    step = tiny_step()
    with quick(recorded.out, steps=40) as recorder:
        for batch in recorder.watch(torch.utils.data.DataLoader(batches(40), batch_size=None)):
            recorder.step(loss=step(batch))
    assert waits(recorded) == [0, 0]


def test_windows_hold_the_steps_under_their_own_numbers_and_only_b_explains(recorded: Run):
    step = tiny_step()
    with quick(recorded.out, steps=40) as recorder:
        for batch in recorder.watch(batches(40)):
            recorder.step(loss=step(batch))
    assert recorded.annotated_steps("times") == [18, 19, 20, 21, 22]
    assert recorded.annotated_steps("explanations") == [26, 27]
    times, explanations = recorded.trace("times"), recorded.trace("explanations")
    assert not any("Input Dims" in e.get("args", {}) or e.get("cat") == "python_function" for e in times)
    assert any("Input Dims" in e.get("args", {}) for e in explanations)
    assert any(e.get("cat") == "python_function" for e in explanations)
    assert any(e["name"] == "[memory]" for e in explanations)
    assert sum(e.get("name") == "Optimizer.step#SGD.step" for e in times) == 5


def test_the_durations_of_a_stretch_add_up_to_its_wall_time(recorded: Run):
    with quick(recorded.out, profile=False, baseline_steps=10) as recorder:
        started_ns = time.perf_counter_ns()
        for _ in range(20):
            time.sleep(0.005)
            recorder.step()
        wall_ns = time.perf_counter_ns() - started_ns
    assert abs(sum(s["dur_ns"] for s in recorded.steps()) - wall_ns) < 2_000_000


def test_waiting_for_input_is_measured_and_time_between_epochs_belongs_to_no_step(recorded: Run):
    def slow_loader() -> Any:
        for _ in range(3):
            time.sleep(0.02)
            yield torch.zeros(4, 2)

    with quick(recorded.out, profile=False) as recorder:
        for _ in range(2):
            for _ in recorder.watch(slow_loader()):
                time.sleep(0.01)
                recorder.step()
            time.sleep(0.2)
    steps = recorded.steps()
    assert len(steps) == 6
    assert all(19_000_000 < s["input_wait_ns"] < 150_000_000 for s in steps)
    assert all(s["input_wait_ns"] + 9_000_000 < s["dur_ns"] < 180_000_000 for s in steps)
    assert steps[3]["start_ns"] - (steps[2]["start_ns"] + steps[2]["dur_ns"]) > 190_000_000


def test_collections_of_garbage_show_in_the_windows(recorded: Run):
    step = tiny_step()
    with quick(recorded.out, steps=30) as recorder:
        for batch in recorder.watch(batches(30)):
            loss = step(batch)
            gc.collect(0)
            recorder.step(loss=loss)
    for window, steps in (("times", 5), ("explanations", 2)):
        marks = [e for e in recorded.trace(window) if e.get("name") == "gc.collect" and e.get("cat") == "user_annotation"]
        assert len(marks) >= steps
    assert not any("GarbageMarks" in repr(callback) for callback in gc.callbacks)


def test_an_exception_leaves_a_readable_run_and_goes_on(recorded: Run):
    def cell() -> float:
        with quick(recorded.out, profile=False) as recorder:
            recorder.step()
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        cell()
    assert recorded.manifest()["exit"] == {
        "status": "failed",
        "code": 1,
        "message": "ZeroDivisionError: division by zero",
    }
    assert len(recorded.steps()) == 1


def test_an_interrupted_cell_can_be_run_again_and_keeps_both_runs(recorded: Run):
    def cell(stop_at: int) -> Recorder:
        step = tiny_step()
        with quick(recorded.out, steps=30) as recorder:
            for number, batch in enumerate(recorder.watch(batches(30))):
                if number == stop_at:
                    raise KeyboardInterrupt
                recorder.step(loss=step(batch))
        return recorder

    # in the middle of window A: the profiler must be free again for the next run
    with pytest.raises(KeyboardInterrupt):
        cell(stop_at=15)
    again = cell(stop_at=99)
    assert recorded.manifest()["exit"]["status"] == "interrupted"
    assert "the run ended inside window 'times': its trace was dropped" in recorded.manifest()["notes"]
    assert again.out.name == "run-2"
    assert [w["name"] for w in Run(again.out).manifest()["windows"]] == ["times", "explanations"]


def test_of_two_recorders_that_are_open_the_first_has_the_profiler(tmp_path: Path):
    step = tiny_step()
    with quick(tmp_path / "first", steps=30) as first, quick(tmp_path / "second", steps=30) as second:
        for batch in batches(30):
            loss = step(batch)
            first.step(loss=loss)
            second.step(loss=loss)
    assert len(Run(tmp_path / "first").manifest()["windows"]) == 2
    assert Run(tmp_path / "second").manifest()["windows"] == []
    assert "another recorder is open in this process: no profiler windows" in Run(tmp_path / "second").manifest()["notes"]
    assert len(Run(tmp_path / "second").steps()) == 30


def test_a_profiler_of_the_users_own_costs_the_windows_and_not_the_run(recorded: Run):
    step = tiny_step()
    with torch.profiler.profile(), quick(recorded.out, steps=30) as recorder:
        for batch in batches(30):
            recorder.step(loss=step(batch))
    manifest = recorded.manifest()
    assert manifest["exit"]["status"] == "done"
    assert len(recorded.steps()) == 30
    assert manifest["windows"] == []
    assert any("another profiler" in note for note in manifest["notes"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_does_not_end_its_parents_run(recorded: Run):
    with quick(recorded.out, profile=False) as recorder:
        recorder.step()
        code = "import os, sys\nfrom collect import Recorder\n"
        code += f"r = Recorder({str(recorded.out.with_name('forked'))!r}, telemetry=False, profile=False).__enter__()\n"
        code += "r.step()\nchild = os.fork()\nif child == 0: sys.exit(0)\nos.waitpid(child, 0)\n"
        code += "print(open(r.out / 'manifest.0.json').read())\n"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert '"status": "running"' in done.stdout
    assert Run(recorded.out.with_name("forked")).manifest()["exit"]["status"] == "interrupted"


def test_what_is_missing_at_an_early_end_is_noted(recorded: Run):
    with quick(recorded.out) as recorder:
        for _ in itertools.repeat(None, 5):
            recorder.step()
    assert recorded.manifest()["notes"] == [
        "the run ended after 5 steps, before: baseline before, times, explanations, baseline after"
    ]


def test_closing_says_where_the_run_is_and_what_comes_next(recorded: Run, capsys: pytest.CaptureFixture[str]):
    with Recorder(recorded.out, telemetry=False, profile=False) as recorder:
        recorder.step()
        recorder.close()
    said = capsys.readouterr().err.splitlines()
    assert said[-2:] == [
        f"stepscope: 1 steps recorded in {recorded.out}",
        f"stepscope: next: stepscope report {recorded.out}",
    ]
    recorder.step()
    assert len(recorded.steps()) == 1


def test_telemetry_runs_beside_the_loop(recorded: Run):
    with Recorder(recorded.out, profile=False, progress=Silence()) as recorder:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not recorded_samples(recorded):
            time.sleep(0.05)
            recorder.step()
    header, *lines = recorded.telemetry()
    assert header["header"]["interval_s"]["psutil"] == 0.5
    assert {"time_ns", "cpu_percent", "memory_used_bytes", "process_rss_bytes"} <= set(lines[0])


def recorded_samples(run: Run) -> int:
    paths = list(run.out.glob("telemetry.*"))
    return paths[0].read_text().count("\n") - 1 if paths and paths[0].read_text() else 0


def test_importing_the_package_loads_no_torch():
    code = "import sys, collect, collect.cli; sys.exit(any(m in sys.modules for m in ('torch', 'pynvml', 'psutil', 'analyze')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
