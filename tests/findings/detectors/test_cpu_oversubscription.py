"""More busy threads than cores: counted from the manifest, believed only where the processor is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analyze.errors import MissingData
from analyze.findings.detectors.cpu_oversubscription import detect
from tests.builders import step_times, table, timed, work

if TYPE_CHECKING:
    import polars as pl

MS = 1_000_000
MANIFEST = {"host": {"cores": 64, "cores_usable": 4}, "threads": 8, "workers": 4}


def load(percent: float | None, time_ns: int = 50 * MS) -> pl.DataFrame:
    return table("telemetry", {"time_ns": time_ns, "metric": "cpu_percent", "value": percent, "source": "psutil"})


STEPS = step_times(timed(0, 0, 100 * MS), timed(1, 100 * MS, 200 * MS))


def test_the_surplus_costs_its_share() -> None:
    """12 threads and workers on 4 cores: two thirds are too many; 0.6 of that of 100 ms, between 0.2 and 1.5 of it."""
    (finding,) = detect(MANIFEST, load(97.0), STEPS)
    assert finding.step_saving_ns == pytest.approx(100 * MS * 2 / 3 * 0.6)
    assert finding.step_saving_low_ns == pytest.approx(100 * MS * 2 / 3 * 0.2)
    assert finding.step_saving_high_ns == pytest.approx(90 * MS)
    assert finding.basis == "modelled"
    assert finding.confidence <= 0.6
    assert finding.message.startswith("1 x (8 compute threads + 4 workers) share 4 cores, which are 97 % busy")
    assert finding.evidence.rows() == [(8, 4, 1, 4)]


def test_local_ranks_multiply() -> None:
    (finding,) = detect({"host": {"cores": 8}, "threads": 4, "local_world_size": 4}, load(97.0), STEPS)
    assert finding.message.startswith("4 x (4 compute threads + 0 workers) share 8 cores")
    assert finding.step_saving_ns == pytest.approx(100 * MS * 0.5 * 0.6)


def test_the_unprofiled_steps_are_the_ones_looked_at() -> None:
    steps = step_times(timed(0, 0, 100 * MS), timed(1, 900 * MS, 940 * MS, profiled=False, cycle=None))
    (finding,) = detect(MANIFEST, load(97.0, 920 * MS), steps)
    assert finding.step_saving_ns == pytest.approx(40 * MS * 2 / 3 * 0.6)


def test_beside_a_device_it_is_a_note() -> None:
    (finding,) = detect(MANIFEST, load(97.0), STEPS, table("kernels", work(0, 1)))
    assert (finding.kind, finding.step_saving_ns) == ("note", None)


def test_silent_where_the_processor_has_room() -> None:
    assert detect(MANIFEST, load(60.0), STEPS) == []


def sampled(**percent: float) -> pl.DataFrame:
    rows = [
        {"time_ns": 50 * MS, "metric": f"{name}_percent", "value": value, "source": "psutil"} for name, value in percent.items()
    ]
    return table("telemetry", *rows)


def test_too_many_compute_threads_leave_cores_idle() -> None:
    """8 threads of one process on 4 cores, of which 60 % are busy: on all of them the same work takes 60 of 100 ms at best."""
    (finding,) = detect(MANIFEST, sampled(cpu=60.0, process_cpu=220.0), STEPS)
    assert finding.step_saving_low_ns == 0
    assert finding.step_saving_ns == pytest.approx(20 * MS)
    assert finding.step_saving_high_ns == pytest.approx(40 * MS)
    assert "share 4 cores, which are 60 % busy" in finding.message


def test_a_container_s_own_use_counts_where_the_machine_is_larger() -> None:
    """3.96 of 4 usable cores are used, 6 % of the machine's 64: full, and two thirds of 12 threads and workers too many."""
    (finding,) = detect(MANIFEST, sampled(cpu=6.0, process_cpu=390.0, process_children_cpu=6.0), STEPS)
    assert "share 4 cores, which are 99 % busy" in finding.message
    assert finding.step_saving_ns == pytest.approx(100 * MS * (1 - 4 / 8.06) * 0.6)


def test_idle_cores_of_the_machine_are_not_the_container_s() -> None:
    """2.4 of 4 usable cores: two fifths idle, not the machine's 96 %."""
    (finding,) = detect(MANIFEST, sampled(cpu=4.0, process_cpu=240.0), STEPS)
    assert finding.step_saving_high_ns == pytest.approx(40 * MS)


def test_workers_beyond_the_cores_alone_cost_nothing_while_cores_idle() -> None:
    """4 threads and 4 workers on 4 cores with room: the workers wait for the loop, not for a core."""
    assert detect(MANIFEST | {"threads": 4}, sampled(cpu=75.0, process_cpu=220.0, process_children_cpu=80.0), STEPS) == []


def test_silent_where_hardly_anything_runs_in_parallel() -> None:
    assert detect(MANIFEST, sampled(cpu=30.0, process_cpu=110.0), STEPS) == []
    assert detect(MANIFEST, sampled(cpu=30.0, process_cpu=110.0, process_children_cpu=150.0), STEPS) == []


def test_silent_where_there_are_no_more_threads_than_cores() -> None:
    assert detect(MANIFEST | {"threads": 4, "workers": 0}, sampled(cpu=60.0, process_cpu=220.0), STEPS) == []


def test_silent_where_threads_fit() -> None:
    assert detect(MANIFEST | {"threads": 4, "workers": 1}, load(99.0), STEPS) == []


def test_workers_that_wait_take_no_core() -> None:
    """Four threads on four cores, and four workers that use a tenth of a core together: nothing is too many."""
    idle_workers = table(
        "telemetry",
        {"time_ns": 50 * MS, "metric": "cpu_percent", "value": 99.0, "source": "psutil"},
        {"time_ns": 50 * MS, "metric": "process_children_cpu_percent", "value": 10.0, "source": "psutil"},
    )
    assert detect(MANIFEST | {"threads": 4}, idle_workers, STEPS) == []
    assert detect(MANIFEST | {"threads": 4}, load(99.0), STEPS) != []


@pytest.mark.parametrize("manifest", [{}, {"host": {"cores": 4}}, {"threads": 8}, {"host": {}, "threads": 8}])
def test_skipped_where_the_manifest_does_not_say(manifest: dict[str, object]) -> None:
    with pytest.raises(MissingData, match="how many compute threads and cores"):
        detect(manifest, load(99.0), STEPS)


@pytest.mark.parametrize("telemetry", [load(99.0, 500 * MS), load(None), table("telemetry")])
def test_skipped_where_no_load_was_sampled_during_the_steps(telemetry: pl.DataFrame) -> None:
    with pytest.raises(MissingData, match="no processor load"):
        detect(MANIFEST, telemetry, STEPS)
