"""What a report says about itself."""

# ruff: noqa: RUF001 - dashes and minus signs are meant
from __future__ import annotations

from dataclasses import replace

from analyze.report.card import card
from analyze.report.trust import trust_sentences
from tests import reports


def test_a_recorded_run_says_how_well_it_replays_where_times_are_from_and_what_it_lacks() -> None:
    assert list(trust_sentences(reports.gpu_report())) == [
        "Played again without any fix, the recorded window takes as long as measured to within 1.2%.",
        "Step times are of 40 unprofiled steps, from the step log.",
        "Under the profiler a step took 74.6 ms on average.",
        "The trace has no input shapes, so work cannot be held against what the device could do.",
        "The trace has no Python stacks, so places are operators and not lines of your code.",
        "unended event: 2; left out of sums.",
    ]


def test_a_trace_alone_says_that_times_are_profiled_and_steps_inferred() -> None:
    said = list(trust_sentences(reports.cpu_report()))
    assert said[:4] == [
        "The recorded window could not be played again, so no saving here was checked against a replay.",
        "Step times are of 3 profiled steps, from the trace.",
        "The trace marks no steps: where they begin was inferred.",
        "Profiling makes steps longer, and how much is unknown here: give the step time without it, if you know it.",
    ]


def test_files_set_aside_and_missing_steps_and_truncation_are_told() -> None:
    ranks, stepless = reports.ranks_report(), reports.stepless_report()
    assert "rank2.json was set aside: empty file." in list(trust_sentences(ranks))
    assert "No steps were found, so times are of the whole trace." in list(trust_sentences(stepless))
    cut = replace(ranks, info=replace(reports.INFO, truncated=True))
    assert "The file ends too early: what came after its end is lost." in list(trust_sentences(cut))


def test_a_card_says_what_is_given_back_with_bounds_share_and_confidence() -> None:
    said = card(reports.LAUNCH_FINDING, reports.gpu_report())
    assert said.gives_back == "Gives back 3.1 ms (2.2–3.6) of each step = 4.5%"
    assert (said.severity, said.location) == ("medium", "aten::convolution")
    assert said.how_sure == (
        "confidence medium (0.62)",
        "replayed: the recorded window was played again with the fix",
    )


def test_the_card_of_a_note_promises_nothing() -> None:
    said = card(reports.POWER_NOTE, reports.gpu_report())
    assert (said.gives_back, said.severity) == ("", "")


def test_without_a_step_time_a_card_gives_no_share() -> None:
    assert card(reports.COPY_FINDING, reports.stepless_report()).gives_back == "Gives back 48.2 ms (46.0–50.1) of each step"
