# ruff: noqa: RUF001 - minus signs, dashes and box characters are meant
from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from analyze.findings.model import Outcome, Report
from analyze.report.headline import headline
from analyze.report.plain_text import columns
from analyze.report.text import lines, render
from tests import reports
from tests.reports import LAUNCH_BOUND, MS, SUMMARY


def head(report: Report, width: int = 80) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in headline(report, width))


def test_the_first_ten_lines_of_a_gpu_run() -> None:
    assert (
        head(reports.gpu_report())
        == """\
resnet18 · NVIDIA H200 · torch 2.14.0 · cuda 13.0 · batch 64 · rank 0 of 1
step    68.4 ms (67.1–70.2), 40 unprofiled, 936 samples/s, profiling +9.1%
verdict Copies from pageable memory take 50.1 of 68.4 ms of each step; the top
        fixes would make it 14.9 ms.
parts   ▒▒▒▒▒▒▒██░  exposed copy 50.1 + compute 14.3 + rest 4.0 = 68.4 ms
1 pageable-copy −48.2 ms (46.0–50.1, high) train.py(31): to → pin_memory=True
2 launch-bound −3.1 ms (2.2–3.6, medium) aten::convolution → Capture the step i…
3 unfused-optimizer −0.9 ms (0.2–1.4, low) → fused=True
trust   replay 1.2% off, no shapes, stacks +1 more; 1 of 5 skipped: the run has…
next    stepscope explain pageable-copy
"""
    )


def test_a_wider_terminal_leaves_room_for_the_fuller_wording() -> None:
    assert (
        head(reports.gpu_report(), 100)
        == """\
resnet18 · NVIDIA H200 · torch 2.14.0 · cuda 13.0 · batch 64 · rank 0 of 1
step    68.4 ms (p10–p90 67.1–70.2), 40 unprofiled steps, 936 samples/s, profiling +9.1%
verdict Copies from pageable memory take 50.1 of 68.4 ms of each step; the top fixes would make it
        14.9 ms.
parts   ▒▒▒▒▒▒▒██░  exposed copy 50.1 + compute 14.3 + idle: launch 3.6 + unexplained 0.4 = 68.4 ms
1 pageable-copy −48.2 ms (46.0–50.1, high) train.py(31): to → pin_memory=True
2 launch-bound −3.1 ms (2.2–3.6, medium) aten::convolution → Capture the step in a CUDA graph
3 unfused-optimizer −0.9 ms (0.2–1.4, low) → fused=True
trust   replay 1.2% off, no shapes, stacks, unended event 2; 1 of 5 skipped: the run has no tempera…
next    stepscope explain pageable-copy
"""
    )


def test_a_clean_run_says_so_in_the_same_order() -> None:
    assert (
        head(reports.clean_report())
        == """\
resnet18 · NVIDIA H200 · torch 2.14.0 · cuda 13.0 · batch 64 · rank 0 of 1
step    68.4 ms (67.1–70.2), 40 unprofiled, 936 samples/s, profiling +9.1%
verdict Nothing worth fixing: the device is busy for 96% of the step.
parts   ██████████  compute 66.0 + idle: launch 2.4 = 68.4 ms
trust   replay 1.2% off
skipped none of 3 checks
"""
    )


def test_a_cpu_trace_without_anything_beside_it_says_what_is_not_known() -> None:
    assert (
        head(reports.cpu_report())
        == """\
trace.json · CPU
step    1,204 ms (p10–p90 1,190–1,240), 3 profiled steps (inferred)
verdict Most of the step is the backward pass on the CPU.
parts   ███████▓▓▓  backward 800 + forward 400 + optimizer 10 = 1,210 ms mean
trust   no replay, no shapes, stacks, memory
skipped 2 of 2 checks: the trace has no device work
next    stepscope report trace.json --baseline-step-ms MS
"""
    )


def test_without_steps_the_step_time_is_called_unknown() -> None:
    assert head(reports.stepless_report()).splitlines()[1] == "step    unknown: no steps were found in this trace"


def test_one_step_has_no_spread_and_parts_that_print_as_zero_are_left_out() -> None:
    one = replace(SUMMARY, step_time=replace(reports.STEP, count=1), samples_per_s=None)
    parts = {"compute": 68.39 * MS, "idle_launch": 0.01 * MS, "exposed_copy": 0.0}
    text = head(replace(reports.gpu_report(), summary=replace(one, step_parts_ns=parts)))
    assert text.splitlines()[1] == "step    68.4 ms, 1 unprofiled step, profiling +9.1%"
    assert text.splitlines()[4] == "parts   ██████████  compute 68.4 = 68.4 ms"
    nothing = replace(reports.gpu_report(), summary=replace(SUMMARY, step_parts_ns={"compute": 0.0}))
    assert "parts" not in head(nothing)


def test_several_devices_are_counted_and_a_negative_remainder_is_subtracted() -> None:
    parts = {"compute": 70.0 * MS, "unexplained": -1.6 * MS}
    text = head(replace(reports.gpu_report(), summary=replace(SUMMARY, device_count=8, step_parts_ns=parts)))
    assert "resnet18 · 8 × NVIDIA H200" in text
    assert "compute 70.0 − unexplained 1.6 = 68.4 ms" in text


def test_skipped_checks_are_counted_by_reason_commonest_first() -> None:
    reasons = ("no shapes", "no telemetry", "no telemetry")
    skipped = tuple(Outcome(detector=LAUNCH_BOUND, state="skipped", reason=reason) for reason in reasons)
    text = head(replace(reports.clean_report(), outcomes=skipped))
    assert "skipped 3 of 3 checks: no telemetry (2), no shapes (1)\n" in text


LONG_VERDICT = "The step waits for its next batch: " + "more workers would give back 225 ms " * 6


def test_a_long_verdict_takes_the_lines_that_findings_leave() -> None:
    one = replace(reports.gpu_report(), verdict=LONG_VERDICT, findings=(reports.COPY_FINDING,))
    assert head(one).splitlines()[2:8] == [
        "verdict The step waits for its next batch: more workers would give back 225 ms",
        "        more workers would give back 225 ms more workers would give back 225 ms",
        "        more workers would give back 225 ms more workers would give back 225 ms",
        "        more workers would give back 225 ms",
        "parts   ▒▒▒▒▒▒▒██░  exposed copy 50.1 + compute 14.3 + rest 4.0 = 68.4 ms",
        "1 pageable-copy −48.2 ms (46.0–50.1, high) train.py(31): to → pin_memory=True",
    ]
    three = replace(reports.gpu_report(), verdict=LONG_VERDICT)
    assert head(three).splitlines()[2:4] == [
        "verdict The step waits for its next batch: more workers would give back 225 ms",
        "        more workers would give back 225 ms more workers would give back 225 ms…",
    ]


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("/home/user/projects/vision/train.py(31): to", "…n/train.py(31): to → pin_memory=True"),
        ("aten::copy_ [[256, 3, 224, 224], []]", "aten::copy_ [[256,… → pin_memory=True"),
        (None, "→ pin_memory=True"),
    ],
)
def test_of_a_path_the_end_is_kept_and_of_a_call_the_beginning(location: str | None, shown: str) -> None:
    finding = replace(reports.COPY_FINDING, location=location)
    line = head(replace(reports.gpu_report(), findings=(finding,))).splitlines()[5]
    assert line.endswith(f") {shown}")


def test_details_give_each_saving_with_bounds_evidence_and_fix() -> None:
    assert """\
1. Copies from pageable memory hold up the step
   8 copies of 38.5 MB from pageable memory take 50.1 ms of each step at 6.1
   GB/s.
   saves 48.2 ms of each step (46.0–50.1), 70% of it; severity high; confidence
   0.91 (high), replayed
   where  train.py(31): to
   seen (3 of 4)
          step  dur_ms  op           bandwidth_gb_per_s
          11    50.130  aten::copy_  6.10
          12    50.125  aten::copy_  6.10
          13    50.140  aten::copy_  6.00
   fix    Let the loader pin its batches
              pin_memory=True
   or     Do not wait for the copy
              images = images.to("cuda", non_blocking=True)
   more   stepscope explain pageable-copy
""" in render(reports.gpu_report())


def test_details_add_the_parts_up() -> None:
    assert """\
The step on the device, in ms (mean)
   ▒ exposed copy  50.1    73%
   █ compute       14.3    21%
   ░ idle: launch   3.6   5.3%
   · unexplained    0.4   0.6%
   = step          68.4

   device busy 94%, busy without collectives 94%
   all replayed fixes together would make the step 14.9 ms
   with a device that never idles it would take 14.2 ms
   step time from step log: mean 68.4 ms of 40 steps, 74.6 ms under the profiler
""" in render(reports.gpu_report())


def test_notes_stand_apart_from_savings_and_claim_no_time() -> None:
    assert """\
Notes

1. The device runs at its power limit
   The card drew 699 of 700 W in 92% of samples.
   confidence 0.80 (high)
   fix    Nothing to fix in the code
   more   stepscope explain power-cap

Not checked
   the run has no temperature: thermal-throttle

How far to trust it
   Played again without any fix, the recorded window takes as long as measured
   to within 1.2%.
   Step times are of 40 unprofiled steps, from the step log.
   Under the profiler a step took 74.6 ms on average.
   The trace has no input shapes, so work cannot be held against what the device
   could do.
   The trace has no Python stacks, so places are operators and not lines of your
   code.
   unended event: 2; left out of sums.
""" in render(reports.gpu_report())


def test_several_ranks_are_listed_with_the_files_set_aside() -> None:
    text = render(reports.ranks_report())
    assert "Ranks\n   rank 0, 68.4 ms, device busy 50%, rank0.json\n   rank 1, 68.4 ms, device busy 94%, rank1.json\n" in text
    assert "   rank2.json was set aside: empty file.\n" in text


def test_long_names_of_ranks_keep_the_ends_by_which_they_differ():
    report = reports.ranks_report()
    ranks = tuple(replace(one, name=f"{'host.compute.internal_' * 5}{one.rank}.json") for one in report.ranks)
    shown = [line for line in render(replace(report, ranks=ranks)).splitlines() if "internal_" in line]
    assert [line[-6:] for line in shown] == ["0.json", "1.json"]
    assert all("…" in line and columns(line) <= 80 for line in shown)


def test_evidence_shows_the_columns_that_fit() -> None:
    wide = pl.DataFrame({f"column_{index}": ["x" * 30] for index in range(6)})
    finding = replace(reports.COPY_FINDING, evidence=wide)
    text = render(replace(reports.gpu_report(), findings=(finding,)))
    assert "column_0" in text
    assert "column_1" in text
    assert "column_2" not in text


ALL = [
    reports.gpu_report,
    reports.clean_report,
    reports.cpu_report,
    reports.ranks_report,
    reports.hostile_report,
    reports.stepless_report,
]


@pytest.mark.parametrize("build", ALL, ids=lambda build: build.__name__)
@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_answer_fits_ten_lines_of_the_width_asked_for(build: type[Report], width: int) -> None:
    first = headline(build(), width)
    assert len(first) <= 10
    assert all(columns("".join(text for text, _ in line)) <= width for line in first)


def test_names_are_text_whatever_they_hold() -> None:
    text = render(reports.hostile_report())
    assert "[bold]\\x1b[31m\\u202e{{7*7}}`=cmd()" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "nan" not in text


def test_a_style_is_one_that_a_terminal_knows() -> None:
    styles = {style for line in lines(reports.gpu_report()) for _, style in line}
    assert styles <= {"", "bold", "dim", "red", "yellow", "green", "cyan"}
