"""Waiting is what a call takes longer than the shortest; the rank with the shortest came last."""

from __future__ import annotations

import polars as pl

from analyze.analyses.across_ranks.collective_arrivals import collective_arrivals
from analyze.analyses.across_ranks.matched_collectives import matched_collectives
from analyze.analyses.across_ranks.rank_clocks import rank_clocks
from tests.rank_sets import calls, own, training

US = 1_000


def _arrivals(rows, steps):
    matched = matched_collectives(rows, steps)
    return collective_arrivals(matched, rank_clocks(matched), steps)


def test_a_kernel_that_waits_for_peers_is_split():
    # rank 0 from 0 to 1000, rank 1 from 900 to 1000: 900 of rank 0's are waiting
    rows = calls(
        {"rank": 0, "step": 0, "start_ns": 0, "dur_ns": 1000 * US, "exposed_ns": 400 * US},
        {"rank": 1, "step": 0, "start_ns": 900 * US, "dur_ns": 100 * US},
    )
    found = _arrivals(rows, own({"rank": 0, "step": 0, "start_ns": 0}, {"rank": 1, "step": 0, "start_ns": 0}))
    assert found.select("wait_ns", "transfer_ns", "exposed_wait_ns", "behind_ns", "last").rows() == [
        (900 * US, 100 * US, 400 * US, 0, False),
        (0, 100 * US, 0, 900 * US, True),
    ]


def test_arrivals_stand_on_one_clock():
    together = training({0: [{"compute": 100.0}] * 5, 1: [{"compute": 130.0}] * 5}, offsets={1: 5_000.0})
    behind = together.frame("collective_arrivals").group_by("rank").agg(pl.col("behind_ns").unique()).sort("rank")
    assert behind["behind_ns"].to_list() == [[0], [30 * US]]


def test_the_wait_of_ranks_that_began_to_record_late_is_set_aside():
    steps = [{"compute": 1_000.0}] * 4
    found = training({0: steps, 1: steps}, begin={1: 20_000.0}).frame("collective_arrivals")
    assert found.filter("profiler_start")["step"].to_list() == [0, 0]
    assert found.filter("profiler_start")["wait_ns"].max() == 20_000 * US


def test_a_rank_that_is_always_late_is_not_excused_by_its_start():
    found = training({0: [{"compute": 1_000.0}] * 4, 1: [{"compute": 21_000.0}] * 4}).frame("collective_arrivals")
    assert not found["profiler_start"].any()


def test_bus_bandwidth_is_what_a_link_carried():
    together = training({rank: [{"compute": 100.0}] * 2 for rank in range(4)}, transfer=100.0)
    costs = together.frame("collective_costs")
    # 1 MiB in 100 µs; an all-reduce of four ranks carries each byte one and a half times over every link
    assert costs["algorithm_bytes_per_s"].to_list() == [(1 << 20) / 100e-6] * 2
    assert costs["bus_bytes_per_s"].to_list() == [1.5 * (1 << 20) / 100e-6] * 2


def test_what_overlapping_collectives_hold_a_rank_up_for_counts_once():
    """Two at a time on rank 0, which waits 900 µs for the first and no longer for the second; each takes 100 µs to transfer."""
    rows = calls(
        {"rank": 0, "step": 0, "turn": 0, "start_ns": 0, "dur_ns": 1000 * US, "exposed_ns": 1000 * US, "blocked_ns": 1000 * US},
        {"rank": 0, "step": 0, "turn": 1, "start_ns": 0, "dur_ns": 1100 * US, "exposed_ns": 1100 * US, "blocked_ns": 100 * US},
        {"rank": 1, "step": 0, "turn": 0, "start_ns": 900 * US, "dur_ns": 100 * US},
        {"rank": 1, "step": 0, "turn": 1, "start_ns": 1000 * US, "dur_ns": 100 * US},
    )
    steps = own(*({"rank": rank, "step": 0, "start_ns": 0} for rank in (0, 1)))
    mine = _arrivals(rows, steps).filter(pl.col("rank") == 0)
    assert mine["exposed_wait_ns"].to_list() == [900 * US, 1000 * US]
    assert mine["blocked_wait_ns"].to_list() == [900 * US, 0]
