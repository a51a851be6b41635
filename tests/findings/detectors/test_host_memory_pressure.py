"""A host that runs out of memory."""

from __future__ import annotations

import pytest

from analyze.findings.detectors.host_memory_pressure import detect
from analyze.findings.model import Severity
from tests.states import GB, MANIFEST, host, hosts

LIMITED = MANIFEST | {"host": {"name": "h", "memory_limit_bytes": 21 * GB}}


def test_hardly_any_memory_left() -> None:
    (note,) = detect(hosts(host(memory_available_bytes=3 * GB)), MANIFEST)
    assert note.severity is Severity.MEDIUM
    assert note.message == "h is short of memory: 3.0 of 128.0 GB were left."


def test_swapping_during_the_steps_is_severe() -> None:
    (note,) = detect(hosts(host(memory_available_bytes=3 * GB, swap_growth_bytes=2 * GB)), MANIFEST)
    assert note.severity is Severity.HIGH
    assert note.message == "h is short of memory: 3.0 of 128.0 GB were left and 2.0 GB went to swap during the steps."
    assert note.confidence == 0.8


def test_near_the_limit_of_the_container() -> None:
    (note,) = detect(hosts(host()), LIMITED)
    assert note.message == (
        "h is short of memory: the training and its workers hold 20.0 of the 21.0 GB that the container may use."
    )
    assert note.confidence == 0.5


@pytest.mark.parametrize(
    ("row", "manifest"),
    [
        pytest.param(host(), MANIFEST, id="plenty_left"),
        pytest.param(host(memory_available_bytes=10 * GB), MANIFEST, id="full_but_enough_left"),
        pytest.param(host(swap_growth_bytes=10_000_000), MANIFEST, id="a_little_swap"),
        pytest.param(host(process_rss_bytes=15 * GB), LIMITED, id="within_the_limit"),
        pytest.param(host(host="other"), LIMITED, id="the_limit_is_that_of_another_host"),
        pytest.param(
            host(memory_available_bytes=None, swap_growth_bytes=None, process_rss_bytes=None), LIMITED, id="not_sampled"
        ),
    ],
)
def test_silent(row: dict[str, object], manifest: dict[str, object]) -> None:
    assert detect(hosts(row), manifest) == []
