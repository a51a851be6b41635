"""Many collectives that cost their latency."""

from __future__ import annotations

import pytest

from analyze.analyses.collective_calls import COLUMNS as CALLS
from tests.builders import frame, step_times, timed
from tests.findings.rank_findings import findings, outcome

US = 1_000
STEP = step_times(timed(0, 0, 10_000 * US))


def _calls(count, size, dur, blocked=None):
    return [
        {"step": 0, "kind": "all-reduce", "group": "0", "turn": turn, "bytes": size, "start_ns": turn, "dur_ns": dur * US,
         "blocked_ns": (dur if blocked is None else blocked) * US}
        for turn in range(count)
    ]  # fmt: skip


def test_joined_they_would_cost_one_latency_and_their_bytes():
    rows = [*_calls(100, 1 << 10, 30), *_calls(1, 100 << 20, 1_000)]
    (finding,) = findings(None, "small-collectives", collective_calls=frame(CALLS, *rows), step_time=STEP)
    # 100 x 30 µs, less 30 µs and 100 KiB at 100 MiB a millisecond
    assert finding.step_saving_ns == pytest.approx((3_000 - 30 - 1_000 / 1_024) * US, rel=1e-3)
    assert finding.basis == "modelled"
    assert "100 collectives a step" in finding.message


def test_on_a_device_what_the_fastest_takes_is_transfer_and_the_rest_waiting():
    rows = [{**row, "stream": 20} for row in [*_calls(99, 1 << 10, 90), *_calls(1, 1 << 10, 30)]]
    (finding,) = findings(None, "small-collectives", collective_calls=frame(CALLS, *rows), step_time=STEP)
    # 100 x 30 µs less one latency and 100 KiB at the usual rate; were all the waiting gone too, 99 x 90 + 30
    assert finding.step_saving_ns == pytest.approx((3_000 - 30 - 20.5) * US, rel=1e-3)
    assert finding.step_saving_high_ns == pytest.approx(8_940 * US, rel=1e-3)


def test_on_the_host_waking_the_next_thread_is_part_of_the_call():
    rows = [*_calls(99, 1 << 10, 90), *_calls(1, 1 << 10, 30)]
    (finding,) = findings(None, "small-collectives", collective_calls=frame(CALLS, *rows), step_time=STEP)
    assert finding.step_saving_ns == pytest.approx((8_940 - 30 - 20.5) * US, rel=1e-3)


def test_a_few_are_not_worth_joining():
    assert findings(None, "small-collectives", collective_calls=frame(CALLS, *_calls(19, 1 << 10, 30)), step_time=STEP) == ()


def test_large_ones_are_not_small():
    assert findings(None, "small-collectives", collective_calls=frame(CALLS, *_calls(100, 8 << 20, 30)), step_time=STEP) == ()


def test_hidden_ones_cost_nothing():
    rows = _calls(100, 1 << 10, 30, blocked=0)
    assert findings(None, "small-collectives", collective_calls=frame(CALLS, *rows), step_time=STEP) == ()


def test_sizes_that_are_not_known_are_said():
    rows = _calls(100, None, 30)
    assert outcome(None, "small-collectives", collective_calls=frame(CALLS, *rows)).state == "skipped"
