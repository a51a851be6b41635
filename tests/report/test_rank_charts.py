"""What the Ranks page draws, as numbers."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.report.charts.ranks import (
    COLLECTIVES,
    MOST_TICKS,
    arrival_heat,
    devices_of,
    split_bars,
    step_heat,
    together,
    who_is_slow,
)
from tests.rank_sets import training

SLOW = training({0: [{"compute": 100.0}] * 3, 1: [{"compute": 100.0}] * 3, 4: [{"compute": 400.0}] * 3}, transfer=50.0)


def test_ranks_by_steps_show_each_rank_s_own_part():
    (heat,) = step_heat(SLOW.frame("rank_steps"))["data"]
    assert heat["y"] == ["rank 0", "rank 1", "rank 4"]
    assert [row[0] for row in heat["z"]] == pytest.approx([0.1, 0.1, 0.4])
    assert {len(row) for row in heat["z"]} == {3}
    assert heat["customdata"][0] == ["step 0", "step 1", "step 2"]


def test_parts_add_up_to_the_step():
    own, wait, transfer = split_bars(SLOW.frame("rank_steps"), SLOW.frame("collective_arrivals"))["data"]
    assert (own["x"], wait["x"], transfer["x"]) == (
        pytest.approx([0.1, 0.1, 0.4]), pytest.approx([0.3, 0.3, 0.0]), pytest.approx([0.05, 0.05, 0.05]),
    )  # fmt: skip


def test_without_matched_collectives_all_that_blocks_is_transfer():
    _, wait, transfer = split_bars(SLOW.frame("rank_steps"), None)["data"]
    assert (wait["x"], transfer["x"]) == ([0.0] * 3, pytest.approx([0.35, 0.35, 0.05]))


def test_arrivals_are_behind_the_first():
    heat, drawn = arrival_heat(SLOW.frame("collective_arrivals"))
    assert drawn == 3
    assert heat["data"][0]["z"] == [(0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.3, 0.3, 0.3)]


def test_heat_maps_say_which_step_a_column_is():
    axis = step_heat(SLOW.frame("rank_steps"))["layout"]["xaxis"]
    assert (axis["ticktext"], axis["title"]["text"]) == (["0", "1", "2"], "step")
    many = training({rank: [{"compute": 100.0}] * 90 for rank in (0, 1)})
    assert len(step_heat(many.frame("rank_steps"))["layout"]["xaxis"]["ticktext"]) <= MOST_TICKS
    heat, _ = arrival_heat(SLOW.frame("collective_arrivals"))
    assert heat["layout"]["xaxis"]["ticktext"] == ["0", "1", "2"]


def test_what_began_to_record_apart_sets_no_scale():
    apart = training({0: [{"compute": 100.0}] * 4, 1: [{"compute": 100.0}] * 4}, begin={1: 50_000.0})
    assert apart.frame("collective_arrivals").filter("profiler_start")["match"].unique().to_list() == [0]
    heat, drawn = arrival_heat(apart.frame("collective_arrivals"))
    assert drawn == 3
    assert heat["data"][0]["z"] == [(0.0, 0.0, 0.0)] * 2


def test_devices_show_what_is_known_of_any():
    states = pl.DataFrame({"rank": [0, 1], "host": [None, None], "memory_total_bytes": [80_000_000_000, None]})
    assert devices_of(states).to_dict(as_series=False) == {"rank": [0, 1], "memory_total_gb": [80.0, None]}


def test_of_many_collectives_the_most_uneven_are_drawn():
    many = training({rank: [{"compute": 100.0 + rank * step} for step in range(COLLECTIVES + 50)] for rank in (0, 1)})
    heat, drawn = arrival_heat(many.frame("collective_arrivals"))
    assert drawn == COLLECTIVES
    assert min(heat["data"][0]["z"][1]) == pytest.approx(0.05)


def test_one_step_of_all_ranks_on_one_clock():
    hidden, wait, transfer = together(SLOW.frame("collective_arrivals"), 1)["data"]
    lanes = dict(zip(wait["y"], zip(wait["base"], wait["x"], transfer["base"], strict=True), strict=True))
    assert lanes["rank 4"] == pytest.approx((0.3, 0.0, 0.3))
    assert lanes["rank 0"] == pytest.approx((0.0, 0.3, 0.3))
    assert hidden["x"] == [0.0] * len(lanes)


def test_what_is_hidden_behind_work_is_no_waiting():
    arrivals = SLOW.frame("collective_arrivals").with_columns(
        blocked_ns=pl.col("dur_ns") // 2, blocked_wait_ns=(pl.col("dur_ns") // 2 - pl.col("transfer_ns")).clip(0)
    )
    hidden, wait, transfer = together(arrivals, 1)["data"]
    for number in range(len(hidden["y"])):
        # one after the other, from the arrival to the end
        assert hidden["base"][number] + hidden["x"][number] == pytest.approx(wait["base"][number])
        assert wait["base"][number] + wait["x"][number] == pytest.approx(transfer["base"][number])
        assert hidden["x"][number] == pytest.approx(wait["x"][number] + transfer["x"][number])


def test_a_step_without_collectives_has_nothing_to_draw():
    assert together(SLOW.frame("collective_arrivals"), 99) is None


def test_a_cause_is_named_only_beyond_the_noise() -> None:
    late = pl.DataFrame(
        {
            "rank": [1, 0],
            "own_ns": [40_696_000.0, 31_861_000.0],
            "excess_ns": [9_052_000.0, 300_000.0],
            "noise_ns": [865_000.0, 865_000.0],
            "significant": [True, False],
            "cause": ["host", "copy"],
            "last_fraction": [0.47, 0.0],
            "waits_ns": [1_228_000.0, 9_207_000.0],
        }
    )
    shown = who_is_slow(late)
    assert shown["most_in"].to_list() == ["host", None]
    assert shown["own_ms"].to_list() == [40.7, 31.86]
    assert shown["came_last_percent"].to_list() == [47.0, 0.0]
