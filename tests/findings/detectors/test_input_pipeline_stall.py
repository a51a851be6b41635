"""Waiting for input is found in the trace or the step log; what workers hide follows from how many fit."""

from __future__ import annotations

import polars as pl
import pytest

from analyze import engine
from tests.builders import table
from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "input-pipeline-stall"
MANY_CORES = {"host": {"cores_usable": 64}}


def training(load_us: float = 4_000, workers: str = "_SingleProcess", *, kernel_us: float = 1_000) -> Timeline:
    """Steps of loading, 96 in Python, a kernel, a wait for it."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            line.load(load_us, workers)
            line.python(96)
            line.kernel(kernel_us)
            line.synchronise()
    return line


def log(wait_us: float | None, step_us: float = 5_101, phase: str = "baseline"):
    rows = [
        {
            "rank": 0,
            "step": number,
            "start_ns": number * 10_000 * US,
            "dur_ns": round(step_us * US),
            "input_wait_ns": None if wait_us is None else round(wait_us * US),
            "phase": phase,
        }
        for number in range(5)
    ]
    return table("step_log", *rows)


class TestInTheTrace:
    def test_enough_workers_hide_loading_in_the_loop(self) -> None:
        """4,000 of 5,101: eight workers at 0.75 deliver every 667, sooner than the other 1,101 are over."""
        finding = one(training().workspace(baseline_step_ms=5.101), ID)
        assert finding.step_saving_ns == pytest.approx(4_000 * US, rel=0.01)
        # four workers deliver every 1,333, of which 232 stay
        assert finding.step_saving_low_ns == pytest.approx(0.95 * 3_768 * US, rel=0.02)
        assert finding.step_saving_high_ns == pytest.approx(1.05 * 4_000 * US, rel=0.02)
        assert finding.basis == "replayed"
        assert "loaded in the training process itself" in finding.message
        assert finding.location == "the loader's next()"

    def test_few_cores_hide_less(self) -> None:
        """Three cores: two workers at 0.75 deliver every 2,667, of which 1,566 stay; one is slower than the loop itself."""
        finding = one(training().workspace(baseline_step_ms=5.101, manifest={"host": {"cores_usable": 3}}), ID)
        assert finding.step_saving_ns == pytest.approx(2_434 * US, rel=0.01)
        assert finding.step_saving_low_ns == pytest.approx(0, abs=5 * US)
        assert finding.thresholds["workers"] == 2

    def test_workers_that_do_not_keep_up_are_doubled(self) -> None:
        """They deliver every 5,101; twice as many at 0.75 every 2,914.9, of which 1,813.9 are waited for."""
        finding = one(training(workers="_MultiProcessing").workspace(baseline_step_ms=5.101, manifest=MANY_CORES), ID)
        assert finding.step_saving_ns == pytest.approx((4_000 - 1_813.9) * US, rel=0.01)
        assert "in workers that do not keep up" in finding.message

    def test_more_workers_are_no_more_than_the_cores_left_for_them(self) -> None:
        """Four workers and the loop on six cores: one more at 0.75 delivers every 4,295.6; half of one every 4,663.8."""
        few_cores = {"host": {"cores_usable": 6}, "workers": 4}
        finding = one(training(workers="_MultiProcessing").workspace(baseline_step_ms=5.101, manifest=few_cores), ID)
        assert finding.step_saving_ns == pytest.approx((5_101 - 4_295.6) * US, rel=0.01)
        assert finding.step_saving_low_ns == pytest.approx(0.95 * (5_101 - 4_663.8) * US, rel=0.02)

    def test_where_no_core_is_left_samples_must_cost_less(self) -> None:
        """Half the work comes every 2,550.5; that none of it can be saved is possible too."""
        full = {"host": {"cores_usable": 4}, "workers": 4}
        finding = one(training(workers="_MultiProcessing").workspace(baseline_step_ms=5.101, manifest=full), ID)
        assert finding.step_saving_ns == pytest.approx(2_550.5 * US, rel=0.01)
        assert finding.step_saving_low_ns == pytest.approx(0, abs=5 * US)
        assert finding.step_saving_high_ns == pytest.approx(1.05 * 4_000 * US, rel=0.02)
        assert "no core is left for more workers, and half the work per sample would give back" in finding.message

    def test_the_unprofiled_wait_is_the_one_that_counts(self) -> None:
        """Profiled steps wait 4,000, unprofiled ones 2,000 of 3,101."""
        finding = one(training().workspace(step_log=log(2_000, 3_101), manifest=MANY_CORES), ID)
        assert finding.step_saving_ns <= 2_000 * US
        assert "waits 2 ms for each batch" in finding.message
        assert finding.step_saving_low_ns <= finding.step_saving_ns <= finding.step_saving_high_ns

    def test_evidence_is_the_longest_waits(self) -> None:
        evidence = one(training().workspace(), ID).evidence
        assert evidence.columns == ["step", "start_ns", "dur_ns", "loads_itself"]
        assert evidence["dur_ns"].to_list() == [4_000 * US] * 4

    def test_silent_where_batches_are_ready(self) -> None:
        assert findings(training(load_us=20).workspace(), ID) == ()

    def test_silent_below_the_floor(self) -> None:
        """2.5 % of the step is the loader's own overhead."""
        assert findings(training(load_us=28).workspace(), ID) == ()

    def test_silent_where_the_device_is_busy_meanwhile(self) -> None:
        line = Timeline()
        for _ in range(6):
            with line.step():
                line.load(4_000)
                line.kernel(9_000)
        assert findings(line.workspace(), ID) == ()

    def test_silent_where_the_unprofiled_steps_hardly_wait(self) -> None:
        """The wait was the profiled steps' own: what is left of it is below the floor."""
        assert findings(training().workspace(step_log=log(10, 1_111), manifest=MANY_CORES), ID) == ()


class TestInTheStepLog:
    @staticmethod
    def unlabelled() -> Timeline:
        line = training()
        line.events["annotation_events"] = [row for row in line.events["annotation_events"] if "DataLoader" not in row["name"]]
        return line

    def test_it_is_modelled_where_the_trace_has_no_spans(self) -> None:
        """3,000 of 5,101 in the loop: four workers deliver every 750."""
        finding = one(self.unlabelled().workspace(step_log=log(3_000), manifest=MANY_CORES), ID)
        assert finding.basis == "modelled"
        assert finding.confidence <= 0.6
        # host times differ by 15 % from run to run
        bounds = (finding.step_saving_low_ns, finding.step_saving_high_ns)
        assert (finding.step_saving_ns, *bounds) == pytest.approx((3e6, 2.55e6, 3.45e6))
        assert "as the step log says; with input ready" in finding.message
        assert finding.evidence["input_wait_ns"].to_list() == [3_000 * US] * 5

    def test_running_workers_are_doubled_there_too(self) -> None:
        """Every 5,101, twice as many at 0.75 every 2,914.9; the rest of the step takes 2,101: 813.9 stay."""
        finding = one(self.unlabelled().workspace(step_log=log(3_000), manifest=MANY_CORES | {"workers": 4}), ID)
        assert finding.step_saving_ns == pytest.approx(2_186.1 * US, rel=1e-4)

    def test_waits_between_the_recorded_steps_count_where_the_workers_set_the_pace(self) -> None:
        """Every fourth step waits 2,000, but none of the recorded ones: 500 of 1,601 a step, every 1,601 now, 914.9 then."""
        steps = log(0.0, 1_101)
        rows = [
            row
            | {
                "step": number,
                "input_wait_ns": 2_000 * US if number % 4 == 3 else 0,
                "dur_ns": (3_101 if number % 4 == 3 else 1_101) * US,
            }
            for number, row in enumerate(steps.rows(named=True) * 7)
        ][:32]
        waiting, ready = table("step_log", *rows), training(1, "_MultiProcessing")
        workers = MANY_CORES | {"workers": 4}
        finding = one(ready.workspace(step_log=waiting, manifest=workers), ID)
        assert finding.basis == "modelled"
        assert finding.step_saving_ns == pytest.approx(500 * US, rel=1e-3)
        assert "the recorded steps hardly met it" in finding.message
        # the same waits all in the first steps are the start of an epoch, and no pace
        first = waiting.sort("input_wait_ns", descending=True).with_columns(step=pl.int_range(pl.len()))
        assert findings(ready.workspace(step_log=first, manifest=workers), ID) == ()

    def test_silent_where_the_log_shows_little(self) -> None:
        assert findings(self.unlabelled().workspace(step_log=log(100)), ID) == ()

    @pytest.mark.parametrize("sources", [{}, {"step_log": log(None)}, {"step_log": log(3_000, phase="times")}])
    def test_skipped_where_nobody_measured_it(self, sources: dict[str, object]) -> None:
        outcome = self.unlabelled().workspace(**sources).outcome(*engine.detectors()[ID])
        assert outcome.state == "skipped"
        assert "how long the loop waited" in outcome.reason
