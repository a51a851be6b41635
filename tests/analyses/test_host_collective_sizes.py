"""Sizes of gloo's collectives, by turn from the window that was recorded with shapes."""

from __future__ import annotations

import pytest

from analyze.analyses.host_collective_sizes import host_collective_sizes
from analyze.errors import MissingData
from tests.builders import family, marker, on_thread, span, step, table

STEPS = table("steps", step(0, 0, 1_000), step(1, 1_000, 2_000))


def call(start: int, ident: int, **more: object) -> dict:
    return {"id": ident, "kind": "all-reduce", **span(start, start + 10), **more}


def explained(*rows: dict):
    return {"annotation_events": family("annotation_events", marker(100, 7, 1_000), *rows)}


def shaped(start: int, shapes: str | None, name: str = "gloo:all_reduce", types: str = '["float"]') -> dict:
    return on_thread(start, start + 5, name, input_dims=shapes, input_types=types)


def test_turns_within_the_step_give_the_size():
    calls = table("collectives", call(10, 1), call(500, 2), call(1_010, 3), call(1_500, 4))
    found = host_collective_sizes(calls, STEPS, explained(shaped(20, "[[128, 128]]"), shaped(40, "[[128]]")))
    assert found.rows() == [(1, 65_536), (2, 512), (3, 65_536), (4, 512)]


def test_a_step_with_another_number_of_them_is_left_out():
    calls = table("collectives", call(10, 1), call(1_010, 3), call(1_500, 4))
    found = host_collective_sizes(calls, STEPS, explained(shaped(20, "[[128, 128]]"), shaped(40, "[[128]]")))
    assert found.rows() == [(3, 65_536), (4, 512)]


def test_what_lies_outside_the_steps_has_no_turn():
    calls = table("collectives", call(10, 1), call(2_500, 2))
    assert host_collective_sizes(calls, STEPS, explained(shaped(20, "[[2]]"))).rows() == [(1, 8)]


@pytest.mark.parametrize(
    ("calls", "rows"),
    [
        ([call(10, 1, device=0)], [shaped(20, "[[2]]")]),
        ([call(10, 1)], [shaped(20, None)]),
        ([call(10, 1)], [shaped(20, "[[2]]", "aten::add")]),
        ([call(10, 1)], [shaped(20, "[[2]]", types='["a type of tomorrow"]')]),
        ([call(10, 1)], []),
    ],
)
def test_without_sizes_it_says_so(calls, rows):
    with pytest.raises(MissingData, match="shapes"):
        host_collective_sizes(table("collectives", *calls), STEPS, explained(*rows))
