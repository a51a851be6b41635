"""Cards that do nothing while the training runs."""

from __future__ import annotations

import pytest

from analyze.findings.detectors.idle_gpu import detect
from analyze.findings.model import Finding, Severity
from tests.builders import table, work
from tests.states import MANIFEST, device, devices

IDLE = {"utilisation_percent": 0.0, "highest_utilisation_percent": 0.0, "power_w": 75.0}
SECOND = {"device_uuid": "GPU-bbbb"}
KERNELS = table("kernels", work(0, 10))


def test_one_of_two_cards_is_idle() -> None:
    (note,) = detect(devices(device(), device(**SECOND, **IDLE)), MANIFEST, KERNELS)
    assert note.severity is Severity.MEDIUM
    assert note.message == "GPU 1 runs nothing during the steps and draws 75 W; 1 of 2 cards work."


def test_several_idle_cards_are_one_note() -> None:
    rows = [device(), device(**SECOND, **IDLE), device(device_uuid="GPU-cccc", **IDLE)]
    (note,) = detect(devices(*rows), MANIFEST, KERNELS)
    assert note.message == "GPU 1, GPU-cccc run nothing during the steps and draw 150 W; 1 of 3 cards work."
    assert note.evidence["device_uuid"].to_list() == ["GPU-bbbb", "GPU-cccc"]


def test_a_training_on_the_cpu_beside_an_idle_card() -> None:
    (note,) = detect(devices(device(**IDLE)), {"device": "cpu", "devices": []})
    assert note.severity is Severity.HIGH
    assert note.message == "GPU-aaaa runs nothing during the steps and draws 75 W; the training runs on the CPU."


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(device(**SECOND), id="busy"),
        pytest.param(device(**SECOND, utilisation_percent=0.2, highest_utilisation_percent=3.0), id="used_now_and_then"),
        pytest.param(device(**SECOND, utilisation_percent=None, highest_utilisation_percent=None), id="use_not_sampled"),
    ],
)
def test_silent(second: dict[str, object]) -> None:
    assert detect(devices(device(), second), MANIFEST, KERNELS) == []


def test_a_card_with_kernels_in_the_trace_is_not_idle_whatever_was_sampled() -> None:
    both = table("kernels", work(0, 10), work(0, 10, device=1))
    assert detect(devices(device(), device(**SECOND, **IDLE)), MANIFEST, both) == []


def test_kernels_and_no_busy_card_at_all_contradict_each_other() -> None:
    assert detect(devices(device(device_uuid="GPU-unknown", **IDLE)), MANIFEST, KERNELS) == []


def codes(note: Finding) -> list[str]:
    return [remedy.code for remedy in note.fix or ()]


def test_one_card_is_not_told_to_train_on_all() -> None:
    (note,) = detect(devices(device(**IDLE)), {"device": "cpu", "devices": []})
    assert not any("torchrun" in code for code in codes(note))
    assert len(codes(note)) == 2


def test_as_many_processes_as_the_host_has_cards() -> None:
    """Three cards of this host and one of another: three processes on this one."""
    rows = [device(), device(**SECOND, **IDLE), device(device_uuid="GPU-cccc", **IDLE), device(host="other", device_uuid="GPU-d")]
    (note,) = detect(devices(*rows), MANIFEST, KERNELS)
    assert codes(note)[1] == "torchrun --nproc-per-node 3 train.py"
    assert len(codes(note)) == 3
