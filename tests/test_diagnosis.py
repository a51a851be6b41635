"""From recordings to a report: which rank leads, what is a symptom, how findings rank, what all fixes leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from analyze import ingest, schema
from analyze.diagnosis import _after_all_fixes, _gather, _Head, _without_symptoms, diagnose
from analyze.engine import Workspace
from analyze.errors import InputError
from analyze.findings.model import Detector, Finding, Outcome, Remedy, Severity
from analyze.findings.saving import share_text
from analyze.ingest import Recording, SetAside, Trace
from analyze.replay import Replay
from analyze.replay.edits import without_host_regions
from tests.builders import table
from tests.replay.programs import Call, program
from tests.timeline import US, Timeline

#: 1,000 of host time; a fix removes the time between two instants
REPLAY = Replay(
    program=program(*(Call(gap=100) for _ in range(10))),
    step_ns=1_000,
    profiled_step_ns=1_000,
    event_cost_ns=(0.0, 0.0, 0.0),
    shown_event_cost_ns=0.0,
    baseline_known=True,
    threads=(("1", "1"),),
)


def detector(identity: str, *symptom_of: str) -> Detector:
    return Detector(
        id=identity,
        title="t",
        meaning="m",
        measured="m",
        fix=(Remedy(text="f"),),
        doc="https://example.org",
        symptom_of=symptom_of,
    )


def saving(identity: str, start: int, end: int, *, confidence: float = 0.9, **more: Any) -> Finding:
    """A finding that removes the host time from start to end."""
    length = end - start
    fields: dict[str, Any] = {
        "message": f"It costs {share_text(length, 1_000)}.",
        "basis": "replayed",
        "step_saving_ns": float(length),
        "step_saving_low_ns": length * 0.8,
        "step_saving_high_ns": length * 1.2,
        "edit": without_host_regions((np.array([start]), np.array([end]))),
    }
    return Finding(detector=identity, confidence=confidence, **(fields | more))


def modelled(identity: str, ns: float) -> Finding:
    return Finding(detector=identity, message="m", confidence=0.5, basis="modelled", step_saving_ns=ns)


def note(identity: str) -> Finding:
    return Finding(detector=identity, kind="note", message="m", confidence=0.9)


def head_of(*outcomes: tuple[Detector, tuple[Finding, ...]], replay: Replay | None = REPLAY, rank: int | None = 0) -> _Head:
    return _Head(
        rank=rank,
        workspace=Workspace({"replay": replay}),
        outcomes=tuple(
            Outcome(detector=one, state="found" if findings else "clear", findings=findings) for one, findings in outcomes
        ),
    )


def claims(findings: object) -> list[tuple[str, float | None]]:
    return [(finding.detector, finding.step_saving_ns) for finding in findings]


CAUSE, SYMPTOM, OTHER = detector("cause"), detector("symptom", "cause"), detector("other")


class TestSymptoms:
    @staticmethod
    def kept(*findings: Finding, replay: Replay | None = REPLAY) -> list[Finding]:
        head = head_of((CAUSE, ()), (SYMPTOM, ()), (OTHER, ()), replay=replay)
        return _without_symptoms(sorted(findings, key=lambda f: (f.step_saving_ns or 0) * f.confidence, reverse=True), head)

    def test_what_is_gone_once_the_cause_is_fixed_is_dropped(self) -> None:
        """Of the symptom's 500 the cause's fix takes 400: a fifth is left."""
        assert claims(self.kept(saving("cause", 0, 400), saving("symptom", 0, 500))) == [("cause", 400)]

    def test_a_symptom_claims_what_is_left_of_it(self) -> None:
        found = self.kept(saving("cause", 0, 400), saving("symptom", 0, 700))
        assert claims(found) == [("cause", 400), ("symptom", pytest.approx(300))]
        assert found[1].message == "It costs 0.0003 ms (30%) of every step, beyond its causes, which are listed too."
        assert found[1].step_saving_low_ns == pytest.approx(0.8 * 300)

    def test_a_symptom_without_its_cause_claims_all(self) -> None:
        assert claims(self.kept(saving("symptom", 0, 700))) == [("symptom", 700)]

    def test_the_cause_counts_first_even_where_it_saves_less(self) -> None:
        """By size the symptom would come first and leave nothing to its cause."""
        found = self.kept(saving("cause", 0, 300), saving("symptom", 0, 900))
        assert claims(found) == [("symptom", pytest.approx(600)), ("cause", 300)]

    def test_unrelated_findings_keep_their_claim(self) -> None:
        found = self.kept(saving("cause", 0, 400), saving("other", 200, 500))
        assert claims(found) == [("cause", 400), ("other", 300)]

    def test_the_same_time_is_not_claimed_twice(self) -> None:
        assert claims(self.kept(saving("cause", 0, 400), saving("other", 10, 390))) == [("cause", 400)]

    def test_modelled_findings_stand_beside(self) -> None:
        found = self.kept(saving("cause", 0, 400), modelled("other", 500.0))
        assert claims(found) == [("cause", 400), ("other", 500)]

    def test_without_a_replay_all_stay(self) -> None:
        found = self.kept(saving("cause", 0, 400), saving("symptom", 0, 390), replay=None)
        assert claims(found) == [("cause", 400), ("symptom", 390)]


class TestRanking:
    def test_it_is_by_saving_times_confidence(self) -> None:
        head = head_of((CAUSE, (saving("cause", 0, 200, confidence=0.9),)), (OTHER, (saving("other", 300, 600, confidence=0.5),)))
        findings, _, _ = _gather(head, several=False)
        assert claims(findings) == [("cause", 200), ("other", 300)]

    def test_notes_stand_apart(self) -> None:
        head = head_of((CAUSE, (saving("cause", 0, 200),)), (OTHER, (note("other"),)))
        findings, notes, outcomes = _gather(head, several=False)
        assert claims(findings) == [("cause", 200)]
        assert [one.detector for one in notes] == ["other"]
        assert [outcome.state for outcome in outcomes] == ["found", "found"]

    def test_the_gravest_note_comes_first(self) -> None:
        notes = [replace(note("other"), severity=each) for each in (Severity.LOW, None, Severity.HIGH, Severity.MEDIUM)]
        _, ordered, _ = _gather(head_of((OTHER, tuple(notes))), several=False)
        assert [one.severity for one in ordered] == [Severity.HIGH, Severity.MEDIUM, Severity.LOW, None]

    def test_a_detector_whose_findings_were_symptoms_is_clear(self) -> None:
        head = head_of((CAUSE, (saving("cause", 0, 400),)), (SYMPTOM, (saving("symptom", 0, 410),)))
        _, _, outcomes = _gather(head, several=False)
        assert [(o.detector.id, o.state, len(o.findings)) for o in outcomes] == [("cause", "found", 1), ("symptom", "clear", 0)]

    def test_with_several_ranks_findings_say_whose_they_are(self) -> None:
        head = head_of((CAUSE, (saving("cause", 0, 400),)), rank=3)
        assert [f.rank for f in _gather(head, several=True)[0]] == [3]
        assert [f.rank for f in _gather(head, several=False)[0]] == [None]


class TestAllFixes:
    def test_they_are_played_together_not_added(self) -> None:
        """0 to 400 and 300 to 600 are 600 together, not 700."""
        head = head_of()
        assert _after_all_fixes(head, [saving("cause", 0, 400), saving("other", 300, 600)]) == pytest.approx(400)
        assert _after_all_fixes(head, [saving("cause", 0, 400), saving("other", 500, 600)]) == pytest.approx(500)

    def test_modelled_ones_are_left_out(self) -> None:
        assert _after_all_fixes(head_of(), [saving("cause", 0, 400), modelled("other", 500.0)]) == pytest.approx(600)

    def test_without_fixes_it_is_the_step(self) -> None:
        assert _after_all_fixes(head_of(), []) == 1_000

    def test_without_a_replay_it_is_unknown(self) -> None:
        assert _after_all_fixes(head_of(replay=None), []) is None


def trace(
    host_us: float, *, rank: int | None = None, window: str | None = None, cycle: int = 0, name: str = "", **info: Any
) -> Trace:
    """Four steps of host work between two kernels."""
    line = Timeline()
    for _ in range(4):
        with line.step():
            with line.op("aten::mm"):
                line.kernel(500)
            line.python(host_us)
            line.kernel(500)
    workspace = line.workspace()
    frames = {family: workspace.get(family) for family in line.events}
    return Trace(
        name=name or f"rank{rank}",
        path=name or f"rank{rank}.{window}.{cycle}",
        rank=rank,
        cycle=cycle,
        window=window,
        info=replace(workspace.get("trace_info"), **info),
        frames=frames,
        data_quality=pl.DataFrame(
            {"cause": ["truncated"], "count": [1], "first_byte": [None], "detail": ["d"], "file": [name or f"rank{rank}"]},
            schema={column.name: column.dtype for column in schema.DATA_QUALITY},
        ),
    )


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch):
    """Lets diagnose read these traces instead of files."""

    def use(*traces: Trace, **more: Any) -> None:
        fields = {"manifests": {}, "step_log": None, "telemetry": None, "telemetry_header": {}, "set_aside": ()}
        recording = Recording(source="here", traces=traces, **(fields | more))
        monkeypatch.setattr(ingest, "read", lambda _paths, **_options: recording)

    return use


class TestRanks:
    def test_the_slowest_leads(self, reading: Any) -> None:
        reading(trace(5_000, rank=0), trace(9_000, rank=1), trace(7_000, rank=2))
        report = diagnose("here")
        assert report.summary.rank == 1
        assert [one.rank for one in report.ranks] == [0, 1, 2]
        assert {finding.rank for finding in report.findings} == {1}

    def test_a_chosen_one_leads_instead(self, reading: Any) -> None:
        reading(trace(5_000, rank=0), trace(9_000, rank=1))
        report = diagnose("here", rank=0)
        assert report.summary.rank == 0
        assert {finding.rank for finding in report.findings} == {0}

    def test_one_that_is_not_there_is_an_error_that_names_those_that_are(self, reading: Any) -> None:
        reading(trace(5_000, rank=0), trace(9_000, rank=4))
        with pytest.raises(InputError, match=r"no rank 2 in this run; ranks: 0, 4"):
            diagnose("here", rank=2)

    def test_traces_without_a_rank_are_each_their_own(self, reading: Any) -> None:
        reading(trace(5_000, name="a.json"), trace(6_000, name="b.json"))
        assert [one.name for one in diagnose("here").ranks] == ["a.json", "b.json"]

    def test_the_first_cycle_of_a_rank_is_analysed(self, reading: Any) -> None:
        reading(trace(9_000, rank=0, cycle=1, name="late"), trace(5_000, rank=0, cycle=0, name="early"))
        assert [one.name for one in diagnose("here").ranks] == ["early"]

    def test_each_rank_has_its_own_steps_and_manifest(self, reading: Any) -> None:
        rows = [
            {"rank": rank, "step": n, "start_ns": n, "dur_ns": (rank + 1) * 1_000 * US, "phase": "baseline"}
            for rank in (0, 1)
            for n in range(3)
        ]
        manifests = {0: {"label": "mine", "batch_size": 8}, 1: {"label": "other", "batch_size": 16}}
        reading(trace(5_000, rank=0), trace(5_000, rank=1), step_log=table("step_log", *rows), manifests=manifests)
        report = diagnose("here")
        assert (report.summary.rank, report.summary.label, report.summary.batch_size) == (1, "other", 16)
        assert report.summary.step_time.mean_ns == 2_000 * US
        assert report.manifest == manifests[1]


class TestWindows:
    def test_times_come_from_one_window_and_explanations_from_the_other(self, reading: Any) -> None:
        times = trace(5_000, rank=0, window="times")
        explaining = trace(9_000, rank=0, window="explanations", has_stacks=True, has_shapes=True)
        reading(explaining, times)
        report = diagnose("here")
        assert len(report.ranks) == 1
        assert report.summary.step_time.mean_ns < 6_000 * US
        assert (report.info.has_stacks, report.info.has_shapes, report.info.has_memory) == (True, True, False)

    def test_explanations_alone_are_better_than_nothing(self, reading: Any) -> None:
        reading(trace(9_000, rank=0, window="explanations"))
        assert diagnose("here").summary.step_time is not None

    def test_a_plain_trace_is_not_explained_by_another(self, reading: Any) -> None:
        reading(trace(5_000, rank=0), trace(5_000, rank=0, window="explanations", has_stacks=True))
        assert diagnose("here").info.has_stacks is False


class TestReport:
    def test_host_work_is_found_ranked_and_put_into_a_verdict(self, reading: Any) -> None:
        reading(trace(9_000))
        report = diagnose("here", baseline_step_ms=9.008)
        assert report.findings[0].detector == "host-work-in-step"
        assert report.findings[0].step_saving_ns == pytest.approx(8_008 * US, rel=0.02)
        assert report.verdict.startswith("Host work inside the step keeps the GPU waiting: a fix gives back about 8.0")
        assert report.summary.after_all_fixes_ns == pytest.approx(1_000 * US, rel=0.02)
        assert report.next_steps == ("stepscope explain host-work-in-step",)

    def test_every_trace_s_damage_and_every_file_set_aside_is_told(self, reading: Any) -> None:
        reading(trace(5_000, rank=0), trace(5_000, rank=1), set_aside=(SetAside(file="x.bin", reason="not a trace"),))
        report = diagnose("here")
        assert report.data_quality["file"].drop_nulls().to_list() == ["rank0", "rank1"]
        # what the head's recording lacks stands beside what its files held
        assert "stacks-missing" in report.data_quality["cause"].to_list()
        assert report.set_aside == (("x.bin", "not a trace"),)

    def test_profiled_steps_alone_ask_for_a_baseline(self, reading: Any) -> None:
        reading(trace(5_000))
        assert any("--baseline-step-ms" in step for step in diagnose("here").next_steps)
        assert not any("--baseline-step-ms" in step for step in diagnose("here", baseline_step_ms=5.0).next_steps)

    def test_tables_can_be_fetched_by_name(self, reading: Any) -> None:
        reading(trace(5_000))
        assert diagnose("here").table("steps").height == 4

    def test_nothing_that_could_be_read_is_an_error(self, reading: Any) -> None:
        reading()
        with pytest.raises(InputError, match="here: no trace in it could be read"):
            diagnose("here")
