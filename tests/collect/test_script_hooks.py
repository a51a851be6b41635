from __future__ import annotations

import gc

from collect.script_hooks import LeadingOptimizer


class Optimizer:
    pass


def test_the_first_optimizer_that_steps_closes_the_steps():
    leading, critic, generator = LeadingOptimizer(), Optimizer(), Optimizer()
    assert [leading.leads(optimizer) for optimizer in (critic, generator, critic, generator)] == [
        True,
        False,
        True,
        False,
    ]


def test_one_that_is_gone_is_followed_by_the_next():
    leading, kept = LeadingOptimizer(), Optimizer()
    first = Optimizer()
    assert leading.leads(first)
    assert not leading.leads(kept)
    del first
    gc.collect()
    assert leading.leads(kept)


def test_one_that_steps_no_more_is_retired_after_a_while():
    leading, warm_up, main = LeadingOptimizer(), Optimizer(), Optimizer()
    assert leading.leads(warm_up)
    assert [leading.leads(main) for _ in range(52)] == [False] * 50 + [True, True]
    assert not leading.leads(warm_up)
