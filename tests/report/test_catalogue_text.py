# ruff: noqa: RUF001 - dashes of ranges are meant
from __future__ import annotations

from dataclasses import replace

from analyze.findings.examples import Example
from analyze.report.catalogue_text import explanation
from analyze.report.example_text import command, none, sentences
from tests.reports import HOSTILE, PAGEABLE_COPY

EXAMPLE = Example(
    run="sample_traces/faults/pageable",
    label="pageable",
    device="NVIDIA H200",
    step_ms=24.67,
    saving_ms=19.38,
    low_ms=15.75,
    high_ms=22.78,
    basis="replayed",
    message="2 copies a step come from pageable memory; pinned they would give back 19.4 ms of every step.",
    location="aten::copy_",
)
NOTE = replace(EXAMPLE, saving_ms=None, low_ms=None, high_ms=None, basis=None, location=None)


def _text(example: Example | None, width: int = 80) -> str:
    return "\n".join("".join(text for text, _ in line) for line in explanation(PAGEABLE_COPY, example, width))


def test_an_example_tells_what_ran_what_was_found_and_how_to_see_it() -> None:
    told = _text(EXAMPLE).partition("An example\n")[2].partition("\n\n")[0]
    assert (
        told
        == """\
   pageable on NVIDIA H200, 24.7 ms a step:
   2 copies a step come from pageable memory; pinned they would give back 19.4
   ms of every step.
   Gives back 19.4 ms (15.8–22.8) of each step = 79%, replayed.
   Where: aten::copy_
   To see it, in a checkout of stepscope:
       stepscope report sample_traces/faults/pageable"""
    )


def test_without_an_example_one_line_says_so() -> None:
    told = _text(None).partition("An example\n")[2].partition("\n\n")[0]
    assert told == "   None of the sample runs shows it."


def test_where_it_is_known_what_an_example_takes_is_said() -> None:
    assert none("thermal-throttle") == "None of the sample runs shows it: it takes a card that runs hot."
    assert none("pageable-copy") == "None of the sample runs shows it."


def test_a_note_claims_no_saving_and_no_place() -> None:
    assert sentences(NOTE) == [
        "pageable on NVIDIA H200, 24.7 ms a step:",
        NOTE.message,
        "To see it, in a checkout of stepscope:",
    ]


def test_an_unknown_bound_is_a_question_mark() -> None:
    assert "Gives back 19.4 ms (15.8–?) of each step = 79%, replayed." in sentences(replace(EXAMPLE, high_ms=None))


def test_what_came_out_of_a_trace_is_escaped() -> None:
    hostile = replace(EXAMPLE, run=f"x/{HOSTILE}", label=HOSTILE, device=HOSTILE, message=HOSTILE, location=HOSTILE)
    told = [*sentences(hostile), command(hostile)]
    assert all(line.isprintable() for line in told)
    assert sum("\\x1b[31m" in line for line in told) == 4


def test_lines_fit_the_width() -> None:
    assert max(map(len, _text(EXAMPLE, 60).splitlines()[:-1])) <= 60
