"""nn.DataParallel, told by its operators and by one process's work on several devices."""

from __future__ import annotations

from analyze import engine
from tests.timeline import Timeline


def _recording(*, devices=2, names=("Scatter", "Broadcast", "Gather"), us=400.0):
    timeline = Timeline()
    for _ in range(4):
        with timeline.step():
            for name in names:
                with timeline.op(name):
                    timeline.python(us)
                    timeline.kernel(20)
            for device in range(devices):
                timeline.kernel(500, device=device, stream=7 + device)
            timeline.synchronise()
    return timeline.workspace()


def _found(workspace):
    outcome = workspace.outcome(*engine.detectors()["data-parallel-instead-of-ddp"])
    assert outcome.state != "skipped", outcome.reason
    return outcome.findings


def test_copying_the_model_every_step_is_found():
    (finding,) = _found(_recording())
    assert "drives 2 GPUs through nn.DataParallel" in finding.message
    assert finding.basis == "modelled"
    assert finding.step_saving_ns > 1_000_000


def test_cheap_copying_is_a_note():
    (finding,) = _found(_recording(us=1.0))
    assert finding.kind in {"note", "saving"}


def test_one_device_needs_no_copies():
    assert _found(_recording(devices=1)) == ()


def test_gathering_alone_is_something_else():
    assert _found(_recording(names=("Gather",))) == ()
