"""From files of several ranks to one report: who they are, what is comparable, and what is set aside."""

from __future__ import annotations

import json

import polars as pl
import pytest

from analyze import diagnose, ingest
from analyze.engine import Workspace
from analyze.errors import InputError
from analyze.ranks.split import by_process
from tests.ranks.written import BASE_NS, pair, step_events, trace, write


def _ranks(report):
    return [one.rank for one in report.ranks]


def _causes(report):
    return dict(report.data_quality.select("cause", "count").rows())


def _report(*paths, **options):
    return diagnose(*map(str, paths), cache=False, **options)


def test_ranks_come_from_the_traces(tmp_path):
    report = _report(pair(tmp_path))
    assert _ranks(report) == [0, 1]
    assert [finding.rank for finding in report.findings if finding.detector == "rank-imbalance"] == [1]
    assert report.summary.rank == 1


def test_without_distributed_info_the_name_tells_and_else_nothing_does(tmp_path):
    trace(tmp_path / "w_rank3.json", [500.0] * 3, 500.0)
    trace(tmp_path / "foo.json", [500.0] * 3, 500.0)
    report = _report(tmp_path)
    assert _ranks(report) == [3, None]
    assert _causes(report)["unassigned-rank"] == 1


def test_files_without_any_rank_are_never_all_rank_0(tmp_path):
    for name in ("foo.json", "bar.json"):
        trace(tmp_path / name, [500.0] * 3, 500.0)
    report = _report(tmp_path)
    assert _ranks(report) == [None, None]
    assert dict(report.skipped)["straggler-rank"] == "the traces do not say which ranks they are of: they cannot be compared"


def test_an_execution_trace_beside_the_others_is_set_aside(tmp_path):
    (pair(tmp_path) / "et.json").write_text(
        json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "name": "aten::mm"}]})
    )
    report = _report(tmp_path)
    assert _ranks(report) == [0, 1]
    assert [file for file, _ in report.set_aside] == ["et.json"]


def test_a_damaged_or_empty_rank_is_set_aside_with_its_reason(tmp_path):
    folder = pair(tmp_path)
    (folder / "rank2.json").write_text("not a trace")
    names = ("process_name", "process_labels", "thread_name")
    write(folder / "rank3.json", [{"ph": "M", "name": name, "pid": 1, "args": {"name": "x"}} for name in names], rank=3)
    report = _report(folder)
    assert "rank-imbalance" in [finding.detector for finding in report.findings]
    assert [file for file, _ in report.set_aside] == ["rank2.json"]
    assert [(one.rank, one.summary.step_time is None) for one in report.ranks] == [(0, False), (1, False), (3, True)]


def test_ids_that_collide_between_ranks_stay_apart(tmp_path):
    # both files use process 100, stream 7 and the same correlations
    report = _report(pair(tmp_path))
    assert report.table("kernels")["launch_id"].null_count() == 0
    assert report.table("matched_collectives").group_by("match").len()["len"].to_list() == [2] * 4


def test_files_of_one_name_in_two_folders_are_two_ranks(tmp_path):
    for rank in (0, 1):
        trace(tmp_path / f"node{rank}" / "host_42.1700000000000.pt.trace.json", [500.0] * 3, 500.0, rank=rank)
    assert _ranks(_report(tmp_path)) == [0, 1]


def test_cycles_of_one_rank_are_cycles(tmp_path):
    trace(tmp_path / "later.json", [700.0] * 3, 700.0, rank=0, shift_ns=10**10)
    trace(tmp_path / "first.json", [500.0] * 3, 500.0, rank=0)
    trace(tmp_path / "other.json", [500.0] * 3, 500.0, rank=1)
    report = _report(tmp_path)
    assert [(one.rank, one.name) for one in report.ranks] == [(0, "first.json"), (1, "other.json")]
    row = report.data_quality.filter(pl.col("cause") == "ranks-recorded-again").row(0, named=True)
    assert (row["count"], row["detail"]) == (1, "of each rank the earliest recording is shown, not later.json")


def test_ranks_recorded_once_are_not_said_to_be_recorded_again(tmp_path):
    assert "ranks-recorded-again" not in _causes(_report(pair(tmp_path)))


def test_one_file_without_a_rank_is_one_rank(tmp_path):
    report = _report(trace(tmp_path / "foo.json", [500.0] * 3, 500.0))
    assert dict(report.skipped)["straggler-rank"] == "the run has one rank, as far as the trace tells"


def test_ranks_with_different_steps_compare_those_they_share(tmp_path):
    report = _report(pair(tmp_path, steps=5, first0=5, first1=6))
    assert report.table("rank_steps")["step"].unique().sort().to_list() == [6, 7, 8, 9]
    row = report.data_quality.filter(report.data_quality["cause"] == "different-steps").row(0, named=True)
    assert (row["count"], row["detail"]) == (2, "steps that not every rank recorded are not compared; those compared: 6 to 9")


def test_clocks_apart_are_said_not_shifted_silently(tmp_path):
    report = _report(pair(tmp_path, shift_ns=400_000))
    clocks = report.table("rank_clocks")
    assert clocks["offset_ns"].to_list() == [0, 400_000]
    assert _causes(report)["clock-offset"] == 1


def test_one_rank_beside_the_others(tmp_path):
    assert _report(pair(tmp_path), rank=0).summary.rank == 0
    with pytest.raises(InputError, match=r"there is no rank 7 in this run; ranks: 0, 1$"):
        _report(tmp_path, rank=7)


def test_no_readable_rank_is_an_error_that_names_files(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("nothing")
    with pytest.raises(InputError, match=r"none of the 2 files could be read: a\.json"):
        _report(tmp_path)


def test_collectives_without_their_kernels_are_said(tmp_path):
    events = [event for event in step_events(3, 1_000, 500, 20) if not str(event["name"]).startswith("nccl")]
    events.append({"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "ts": 1_300, "dur": 9, "pid": 100, "tid": 100})
    reasons = dict(_report(write(tmp_path / "rank0.json", events, rank=0)).skipped)
    assert reasons["small-collectives"] == "collectives are seen on the host only: the trace lacks their kernels"


def _merged(*, colliding: bool, named: bool):
    """Two ranks in one file, as scripts that merge traces leave them."""
    events = []
    for rank, pid in enumerate((1000, 2000)):
        for number in range(3):
            correlation = 42 + 10 * number + (0 if colliding else 100 * rank)
            events += step_events(3 + number, 1_000 + 900 * number, 500, 300, pid=pid, device=rank, correlation=correlation)
        if named:
            events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": f"rank {rank}: python"}})
    return events


@pytest.mark.parametrize("named", [True, False])
def test_a_merged_file_is_split_by_process(tmp_path, named: bool):
    report = _report(write(tmp_path / "merged.json", _merged(colliding=False, named=named)))
    assert _ranks(report) == [0, 1]
    assert report.table("kernels")["device"].unique().to_list() == [0]


def test_correlations_that_collide_in_a_merged_file_link_nothing_across_processes(tmp_path):
    report = _report(write(tmp_path / "merged.json", _merged(colliding=True, named=False)))
    assert _ranks(report) == [None]
    assert report.table("kernels")["launch_id"].null_count() == 12
    assert report.table("launches")["work_count"].sum() == 0


def _flow(pid, identity, begin):
    link = {"cat": "fwdbwd", "name": "fwdbwd", "id": identity, "pid": pid, "tid": pid}
    return [link | {"ph": "s", "ts": begin}, link | {"ph": "f", "ts": begin + 100, "bp": "e"}]


def test_flow_ids_that_collide_in_a_merged_file_stay_with_their_rank(tmp_path):
    events = [*_merged(colliding=False, named=True), *_flow(1000, 5, 1_001), *_flow(2000, 5, 1_002)]
    path = write(tmp_path / "merged.json", events)
    (trace_of_all,) = ingest.read([str(path)], cache=False).traces
    starts = [part.frames["flow_events"].collect()["start_ns"].to_list() for part in by_process(trace_of_all)]
    assert [[start - BASE_NS for start in rank] for rank in starts] == [[1_001_000, 1_101_000], [1_002_000, 1_102_000]]


def test_many_repeated_correlations_take_no_longer_than_as_many_others(tmp_path):
    """Each launch held against each kernel of its number would be 400 million pairs."""
    count = 20_000
    events = [*_merged(colliding=False, named=True)]
    for pid in (1000, 2000):
        host, device = {"pid": pid, "tid": pid}, {"pid": pid // 1000 - 1, "tid": 7}
        for number in range(count // 2):
            times = {"ts": 1_020 + number / 100, "dur": 0.005, "args": {"correlation": 42}}
            work = times | {"args": {"correlation": 42, "device": device["pid"], "stream": 7}}
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel"} | times | host)
            events.append({"ph": "X", "cat": "kernel", "name": "sgemm"} | work | device)
    (whole,) = ingest.read([str(write(tmp_path / "merged.json", events))], cache=False).traces
    workspace = Workspace(dict(whole.frames) | {"trace_info": whole.info})
    launches = workspace.get("launches")
    # and two launches and a synchronisation in each of six steps
    assert launches.height == count + 18
    assert launches.filter(pl.col("correlation") == 42)["work_count"].sum() == 0
