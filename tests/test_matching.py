"""Calls of the timed window find their counterparts in the explaining one by order within the step."""

from __future__ import annotations

from analyze.matching import match_operators
from tests.builders import Row, family, marker, on_thread, operator, table


def explained(*ops: Row, markers: tuple[Row, ...] = (marker(7, 0, 100), marker(8, 100, 200))):
    return {"op_events": family("op_events", *ops), "annotation_events": family("annotation_events", *markers)}


def own(*ops: Row):
    return table("cpu_ops", *ops).select("id", "name", "thread", "start_ns", "step")


def matches(mine, theirs) -> dict[int, int]:
    return dict(match_operators(mine, theirs).rows())


def test_the_nth_call_of_a_name_is_the_nth_of_the_last_explained_step() -> None:
    theirs = explained(
        on_thread(10, 20, "aten::mm", id=1),
        on_thread(110, 120, "aten::mm", id=2),
        on_thread(120, 130, "aten::add", id=3),
        on_thread(130, 140, "aten::mm", id=4),
    )
    mine = own(
        operator(1_000, 1_010, "aten::mm", id=50, step=3),
        operator(1_010, 1_020, "aten::add", id=51, step=3),
        operator(1_020, 1_030, "aten::mm", id=52, step=3),
        operator(2_000, 2_010, "aten::mm", id=60, step=4),
    )
    assert matches(mine, theirs) == {50: 2, 51: 3, 52: 4, 60: 2}


def test_threads_count_on_their_own() -> None:
    theirs = explained(on_thread(110, 120, "aten::mm", id=1), on_thread(111, 120, "aten::mm", id=2, thread="2"))
    mine = own(operator(0, 1, "aten::mm", id=50, step=0, thread="2"), operator(1, 2, "aten::mm", id=51, step=0))
    assert matches(mine, theirs) == {50: 2, 51: 1}


def test_more_calls_than_the_explained_step_had_stay_unmatched() -> None:
    mine = own(*(operator(at, at + 1, "aten::mm", id=50 + at, step=0) for at in range(3)))
    assert matches(mine, explained(on_thread(110, 120, "aten::mm", id=1))) == {50: 1}


def test_calls_outside_steps_are_not_matched() -> None:
    mine = own(operator(0, 1, "aten::mm", id=50), operator(1, 2, "aten::mm", id=51, step=0))
    assert matches(mine, explained(on_thread(110, 120, "aten::mm", id=1))) == {51: 1}


def test_calls_before_the_explained_steps_explain_nothing() -> None:
    theirs = explained(on_thread(5, 6, "aten::mm", id=1), markers=(marker(8, 100, 200),))
    assert matches(own(operator(0, 1, "aten::mm", id=50, step=0)), theirs) == {}


def test_without_markers_nothing_matches() -> None:
    theirs = explained(on_thread(110, 120, "aten::mm", id=1), markers=())
    assert matches(own(operator(0, 1, "aten::mm", id=50, step=0)), theirs) == {}


def test_the_last_step_is_the_latest_not_the_one_written_last() -> None:
    markers = (marker(8, 100, 200) | {"id": 3}, marker(7, 0, 100) | {"id": 9})
    theirs = explained(on_thread(10, 20, "aten::mm", id=1), on_thread(110, 120, "aten::mm", id=2), markers=markers)
    assert matches(own(operator(0, 1, "aten::mm", id=50, step=0)), theirs) == {50: 2}
