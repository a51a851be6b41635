"""Host time added by a fix."""

from __future__ import annotations

import numpy as np
import pytest

from analyze.replay.added_cost import with_added_cost
from analyze.replay.simulate import simulate
from tests.replay.programs import Call, Work, program


def test_added_cost_comes_before_the_named_calls() -> None:
    built = program(Call(gap=10.0, cost=5.0), Call(gap=20.0, cost=5.0))
    assert with_added_cost(np.array([101]), 7.0)(built).gap.tolist() == [10.0, 27.0, 0.0]


def test_added_cost_lengthens_a_host_bound_step() -> None:
    built = program(Call(gap=100.0, cost=5.0, work=(Work(dur=1.0),)))
    longer = with_added_cost(np.array([100]), 50.0)(built)
    assert simulate(longer).step_ns - simulate(built).step_ns == pytest.approx(50.0)
