"""Processors of the host that are all busy."""

from __future__ import annotations

import pytest

from analyze.findings.detectors.cpu_saturated import detect
from tests.states import MANIFEST, host, hosts


def _usable(cores: int) -> dict[str, object]:
    return MANIFEST | {"host": {"name": "h", "cores": 16, "cores_usable": cores}}


def test_busy_with_the_training_and_with_others() -> None:
    row = host(cpu_percent=100.0, process_cpu_percent=100.0, process_children_cpu_percent=900.0)
    (note,) = detect(hosts(row), MANIFEST)
    assert note.message == "16.0 of 16 processors of h are busy: 10.0 by the training and its workers, 6.0 by other programs."


def test_a_container_that_may_use_four_and_does() -> None:
    row = host(cpu_percent=25.0, process_cpu_percent=100.0, process_children_cpu_percent=290.0)
    (note,) = detect(hosts(row), _usable(4))
    assert note.message == "The training takes 3.9 of the 4 processors that it may use on h; none is left."


def test_a_training_on_the_cpu_that_others_disturb() -> None:
    row = host(cpu_percent=99.0, process_cpu_percent=800.0, process_children_cpu_percent=None)
    (note,) = detect(hosts(row), MANIFEST | {"device": "cpu"})
    assert "8.0 by the training and its workers, 7.8 by other programs" in note.message


def test_without_a_watched_process_the_host_is_enough() -> None:
    row = host(cpu_percent=97.0, process_cpu_percent=None, process_children_cpu_percent=None)
    (note,) = detect(hosts(row))
    assert note.message == "15.5 of 16 processors of h are busy."


@pytest.mark.parametrize(
    ("row", "manifest"),
    [
        pytest.param(host(), MANIFEST, id="half_busy"),
        pytest.param(host(cpu_percent=85.0), MANIFEST, id="some_left"),
        pytest.param(host(cpu_percent=100.0, process_cpu_percent=1590.0), MANIFEST | {"device": "cpu"}, id="training_on_the_cpu"),
        pytest.param(host(process_cpu_percent=400.0), _usable(4) | {"device": "cpu"}, id="training_on_its_share_of_the_cpu"),
        pytest.param(host(cpu_percent=None), MANIFEST, id="not_sampled"),
        pytest.param(host(cpu_percent=100.0, core_count=None), {}, id="processors_not_known"),
        pytest.param(host(host="other"), _usable(4), id="the_limit_is_that_of_another_host"),
    ],
)
def test_silent(row: dict[str, object], manifest: dict[str, object]) -> None:
    assert detect(hosts(row), manifest) == []
