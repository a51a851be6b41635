"""A modelled saving goes through the replay and is never surer than a model may be."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.analyses.device_rates import COLUMNS
from analyze.findings.kernel_groups import memory_rate, peak, reached
from analyze.findings.model import MODELLED_CONFIDENCE_CAP
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.replay.edits import with_work_duration
from tests.builders import frame
from tests.replay.programs import Call, Work, program, replay_of


def shorter(dur_ns: float):
    return with_work_duration(np.array([1000]), np.array([dur_ns]))


def found(replay, usual, **more):
    return modelled_through_replay(
        "a-detector",
        replay,
        shorter(usual),
        cautious=shorter(800_000.0),
        optimistic=shorter(200_000.0),
        message="{saving}",
        **more,
    )


DEVICE_BOUND = program(Call(cost=5_000.0, work=(Work(dur=1_000_000.0),)))


def test_basis_confidence_and_bounds() -> None:
    (finding,) = found(replay_of(DEVICE_BOUND), 500_000.0)
    assert finding.basis == "modelled"
    assert finding.confidence <= MODELLED_CONFIDENCE_CAP
    assert finding.step_saving_ns == pytest.approx(500_000)
    assert finding.step_saving_low_ns == pytest.approx(200_000 * 0.97)
    assert finding.step_saving_high_ns == pytest.approx(800_000 * 1.03)
    assert finding.message == "0.5 ms (50%) of every step"


def test_what_the_host_holds_up_stays() -> None:
    host_bound = program(Call(gap=900_000.0, cost=5_000.0, work=(Work(dur=1_000_000.0),)))
    (finding,) = found(replay_of(host_bound), 500_000.0)
    assert finding.step_saving_ns < 100_000


def test_less_certain_evidence_lowers_the_confidence() -> None:
    (finding,) = found(replay_of(DEVICE_BOUND), 500_000.0, certainty=0.5)
    assert finding.confidence == pytest.approx(MODELLED_CONFIDENCE_CAP / 2)


def test_too_small_a_saving_is_none() -> None:
    assert found(replay_of(DEVICE_BOUND), 990_000.0) == []


RATES = ("what", "peak_per_s", "reached_per_s", "work_ns")


def rates(*rows):
    return frame(COLUMNS, *[dict(zip(RATES, row, strict=True)) for row in rows])


def test_a_reached_rate_never_exceeds_the_peak() -> None:
    table = rates(("memory", 100.0, 130.0, 1), ("bf16", None, 7.0, 1), ("fp32", 5.0, None, None))
    assert (reached(table, "memory"), reached(table, "bf16"), reached(table, "fp32")) == (100.0, 7.0, None)
    assert (peak(table, "bf16"), peak(table, "fp32"), peak(table, "fp8")) == (None, 5.0, None)


def test_the_memory_rate_falls_back_to_a_share_of_the_peak() -> None:
    assert memory_rate(rates(("memory", 100.0, 60.0, 1))) == 60.0
    assert memory_rate(rates(("memory", 100.0, None, None))) == 80.0
    assert memory_rate(rates(("memory", None, None, None))) is None
