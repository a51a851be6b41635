from __future__ import annotations

from dataclasses import replace

import polars as pl

from analyze.report.evidence import evidence_of
from tests.reports import COPY_FINDING, HOSTILE, SUMMARY

ORIGIN = 1_796_100_380_000_000_000
FRAME = pl.DataFrame(
    {
        "step": [5, 6, 7],
        "start_ns": [ORIGIN + 1_250_000, ORIGIN + 2_000_000, None],
        "dur_ns": [26_389_260, 500, 7],
        "bytes": [154_140_672, 4, None],
        "share": [0.5, float("nan"), None],
        "op": ["aten::copy_", HOSTILE * 10, None],
    },
    schema_overrides={"op": pl.Categorical},
)


def test_times_count_from_the_window_and_sizes_are_megabytes() -> None:
    summary = replace(SUMMARY, window_ns=(ORIGIN, ORIGIN + 10**9))
    evidence = evidence_of(replace(COPY_FINDING, evidence=FRAME), summary, 3)
    assert evidence is not None
    assert evidence.titles == ["step", "start_at_ms", "dur_ms", "MB", "share", "op"]
    assert evidence.rows[0] == ["5", "1.250", "26.389", "154", "0.50", "aten::copy_"]
    assert evidence.rows[2] == ["7", "\u2013", "0.000", "\u2013", "\u2013", "\u2013"]
    assert evidence.count == 3


def test_without_a_window_moments_stay_what_they_are() -> None:
    evidence = evidence_of(replace(COPY_FINDING, evidence=FRAME), SUMMARY, 1)
    assert evidence is not None
    assert evidence.titles[1] == "start_ms"
    assert evidence.rows == [["5", "1,796,100,380,001.250", "26.389", "154", "0.50", "aten::copy_"]]


def test_text_is_escaped_and_cut_and_what_is_no_number_is_a_question_mark() -> None:
    evidence = evidence_of(replace(COPY_FINDING, evidence=FRAME), SUMMARY, 2)
    assert evidence is not None
    assert evidence.rows[1][4:] == ["?", "<img src=x onerror=alert(1)>[bold]\\x1b[…"]


def test_an_empty_frame_is_no_evidence() -> None:
    assert evidence_of(replace(COPY_FINDING, evidence=pl.DataFrame()), SUMMARY, 3) is None
    assert evidence_of(replace(COPY_FINDING, evidence=FRAME.clear()), SUMMARY, 3) is None
