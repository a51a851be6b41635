"""The wiring: names resolve, the graph has no cycle, each thing is computed once, and what lacks its input is skipped."""

from __future__ import annotations

import inspect
from graphlib import TopologicalSorter

import polars as pl
import pytest

from analyze import engine
from analyze.engine import SOURCES, Workspace
from analyze.errors import MissingData, UnknownName
from analyze.findings.model import Detector, Finding, Remedy
from tests.builders import family, marker

DETECTOR = Detector(id="a-problem", title="t", meaning="m", measured="m", fix=(Remedy(text="f"),), doc="https://example.org")


def _asking() -> dict[str, dict[str, bool]]:
    """What every producer and detector asks for: name to parameter to whether it is optional."""
    producers = {name: engine.inputs(engine.producer(name)) for name in engine.producer_modules()}
    return producers | {identity: engine.inputs(detect) for identity, (_, detect) in engine.detectors().items()}


@pytest.mark.parametrize("name", sorted(_asking()))
def test_every_parameter_is_a_source_or_something_that_is_produced(name: str) -> None:
    known = {*SOURCES, *engine.producer_modules()}
    assert set(_asking()[name]) - known == set()


@pytest.mark.parametrize("name", sorted(engine.producer_modules()))
def test_a_file_holds_the_function_of_its_name(name: str) -> None:
    assert engine.producer(name).__name__ == name


def test_nothing_is_produced_under_the_name_of_a_source() -> None:
    assert engine.producer_modules().keys() & set(SOURCES) == set()


def test_the_graph_has_no_cycle() -> None:
    order = list(TopologicalSorter({name: list(needs) for name, needs in _asking().items()}).static_order())
    assert order.index("steps") < order.index("step_time") < order.index("replay")


def test_optional_means_a_default_of_none() -> None:
    defaults = [
        parameter.default
        for function in [engine.producer(name) for name in engine.producer_modules()]
        + [d for _, d in engine.detectors().values()]
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is not inspect.Parameter.empty
    ]
    assert set(defaults) <= {None}


def _marked_workspace() -> Workspace:
    empty = {name: family(name) for name in ("op_events", "runtime_events", "device_events")}
    return Workspace({"annotation_events": family("annotation_events", marker(3, 100, 200)), **empty})


def test_a_result_is_computed_when_first_asked_for_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = [], engine.producer
    monkeypatch.setattr(engine, "producer", lambda name: made.append(name) or real(name))
    workspace = _marked_workspace()
    assert made == []
    assert workspace.get("steps") is workspace.get("steps")
    assert made == ["steps"]


def test_what_is_missing_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = [], engine.producer
    monkeypatch.setattr(engine, "producer", lambda name: made.append(name) or real(name))
    workspace = Workspace({})
    for _ in range(2):
        with pytest.raises(MissingData):
            workspace.get("annotations")
    assert made == ["annotations"]


def test_a_missing_source_is_named() -> None:
    with pytest.raises(MissingData, match="no telemetry was recorded beside the trace"):
        Workspace({}).get("telemetry")


def test_what_is_missing_below_is_the_reason_above() -> None:
    with pytest.raises(MissingData, match="the recording has no annotation_events"):
        Workspace({}).get("annotations")


def test_a_name_that_means_nothing_is_a_fault() -> None:
    with pytest.raises(UnknownName, match="nothing is called 'kernel'"):
        Workspace({}).get("kernel")


def test_a_table_by_a_wrong_name_names_close_ones() -> None:
    with pytest.raises(UnknownName, match=r"close names: .*kernels"):
        Workspace({}).frame("kernel")


def test_a_source_is_shown_as_a_frame() -> None:
    telemetry = pl.DataFrame({"time_ns": [1]})
    assert Workspace({"telemetry": telemetry}).frame("telemetry").equals(telemetry)


def test_an_optional_input_that_is_missing_is_none() -> None:
    def asks(manifest: dict[str, object], telemetry: pl.DataFrame | None = None) -> tuple[object, object]:
        return manifest, telemetry

    assert Workspace({"manifest": {"rank": 0}}).call(asks) == ({"rank": 0}, None)


def test_a_detector_without_its_input_is_skipped_with_the_reason() -> None:
    def detect(telemetry: pl.DataFrame) -> list[Finding]:
        raise AssertionError(telemetry)

    outcome = Workspace({}).outcome(DETECTOR, detect)
    assert (outcome.state, outcome.reason) == ("skipped", "no telemetry was recorded beside the trace")


def test_a_detector_that_finds_nothing_is_clear() -> None:
    def detect(manifest: dict[str, object]) -> list[Finding]:
        return list(manifest)  # type: ignore[arg-type]

    assert Workspace({"manifest": {}}).outcome(DETECTOR, detect).state == "clear"


def test_a_detector_that_finds_something_is_found() -> None:
    finding = Finding(detector="a-problem", kind="note", message="it is so", confidence=0.9)

    def detect(manifest: dict[str, object]) -> list[Finding]:
        return [finding] if manifest else []

    outcome = Workspace({"manifest": {"rank": 0}}).outcome(DETECTOR, detect)
    assert (outcome.state, outcome.findings) == ("found", (finding,))


def test_every_detector_has_an_outcome_where_nothing_is_known() -> None:
    outcomes = Workspace({}).outcomes()
    assert {outcome.detector.id for outcome in outcomes} == set(engine.detectors())
    assert {outcome.state for outcome in outcomes} == {"skipped"}
    assert all(outcome.reason for outcome in outcomes)


def test_steps_come_from_markers_through_the_engine() -> None:
    assert _marked_workspace().frame("steps").select("step", "start_ns", "dur_ns").rows() == [(3, 100, 100)]


def test_a_fault_in_one_detector_does_not_cost_the_others() -> None:
    def detect(manifest: dict[str, object]) -> list[Finding]:
        raise ZeroDivisionError(f"of {len(manifest)}")

    outcome = Workspace({"manifest": {}}).outcome(DETECTOR, detect)
    assert (outcome.state, outcome.reason) == ("skipped", f"{engine.FAULT}: ZeroDivisionError: of 0")
