"""The same report wherever the ranks are read: here, in processes, on a cluster; and what fails costs one rank."""

from __future__ import annotations

import os
import pickle
import signal

import pytest

from analyze import diagnose
from analyze.errors import InputError
from analyze.ingest import ReadCancelled
from analyze.ranks import Job, Options, pool, rank_jobs, rank_results, run
from analyze.report import document
from tests.ranks.written import pair


def test_files_of_a_run_directory_are_grouped_by_rank(tmp_path):
    names = ["manifest.0.json", "manifest.1.json", "steps.0.jsonl", "rank0.times.pt.trace.json.gz", "telemetry.a.jsonl",
             "telemetry.b.jsonl", "rank1.times.1.pt.trace.json.gz", "rank0.explanations.pt.trace.json.gz", "notes.json"]  # fmt: skip
    for name in names:
        (tmp_path / name).write_text('{"format": "stepscope-run", "host": {"name": "b"}}' if name == "manifest.1.json" else "{}")
    jobs = {job.name: {path.rsplit("/", 1)[1] for path in job.paths} for job in rank_jobs([str(tmp_path)])}
    # rank 1's manifest names its host; rank 0's does not
    assert jobs == {
        "rank 0": {*names[:1], *names[2:6], names[7]},
        "rank 1": {"manifest.1.json", "rank1.times.1.pt.trace.json.gz", "telemetry.b.jsonl"},
        "notes.json": {"notes.json"},
    }


@pytest.mark.parametrize("given", [["one.json"], ["s3://bucket/run"], ["missing"]])
def test_a_single_path_is_one_job(given):
    assert [job.paths for job in rank_jobs(given)] == [tuple(given)]


def test_what_the_stage_returns_can_be_sent(tmp_path):
    (job, _) = rank_jobs([str(pair(tmp_path))])
    result = rank_results(job, Options(cache=False)).portable()
    again = pickle.loads(pickle.dumps(result))
    assert again.ranks[0].summary == result.ranks[0].summary
    assert set(again.ranks[0].frames) == {"collective_calls", "own_time", "kernel_pace", "rank_state"}
    assert again.ranks[0].missing == {
        "shaped_work": "no shapes were recorded",
        "device_spans": "the recording does not say which device this is: whether ranks share it is not known",
    }
    assert again.ranks[0].frames["own_time"].equals(result.ranks[0].frames["own_time"])
    assert len(pickle.dumps(result)) < 100_000


def test_processes_give_the_same_report(tmp_path):
    folder = str(pair(tmp_path))
    here, there = (document.render(diagnose(folder, cache=False, processes=count)) for count in (1, 2))
    assert here == there


def test_a_process_that_dies_costs_one_rank(tmp_path, monkeypatch):
    jobs = rank_jobs([str(pair(tmp_path))])
    sent = pool._Worker.result

    def killed(self, job, options):
        if job.name == "rank0.json":
            os.kill(self._process.pid, signal.SIGKILL)
        return sent(self, job, options)

    monkeypatch.setattr(pool._Worker, "result", killed)
    first, second = run(jobs, Options(cache=False), processes=2)
    assert "its process ended early" in first.set_aside[0][1]
    assert [rank.rank for rank in second.ranks] == [1]


def test_a_fault_in_one_rank_costs_one_rank(tmp_path, monkeypatch):
    def faulty(workspace, name):
        raise ZeroDivisionError(name)

    jobs = rank_jobs([str(pair(tmp_path))])
    monkeypatch.setattr("analyze.ranks.stage.summarise", faulty)
    with pytest.raises(InputError, match=r"could not be analysed: ZeroDivisionError: rank0\.json"):
        run(jobs, Options(cache=False))


@pytest.mark.parametrize("processes", [1, 2])
def test_reading_can_be_cancelled_between_ranks(tmp_path, processes: int):
    jobs = rank_jobs([str(pair(tmp_path))])
    with pytest.raises(ReadCancelled):
        run(jobs, Options(cache=False), processes=processes, cancel=lambda: True)


def test_progress_ends_at_the_whole(tmp_path):
    heard = []
    run(rank_jobs([str(pair(tmp_path))]), Options(cache=False), progress=heard.append)
    assert heard[-1].bytes_done == heard[-1].bytes_total


def test_workers_are_bounded_by_memory(monkeypatch):
    class Memory:
        available = 8 << 30

    monkeypatch.setattr("psutil.virtual_memory", Memory)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(32)), raising=False)
    assert pool.worker_count(100 << 20) == 10
    assert pool.worker_count(3 << 30) == 1
    assert pool.worker_count(64 << 30) == 1


def test_a_cluster_that_does_not_answer_is_one_line():
    pytest.importorskip("distributed")
    jobs = [Job(name=name, paths=(name,)) for name in "ab"]
    with pytest.raises(InputError, match=r"--dask tcp://127\.0\.0\.1:9: no scheduler answers there"):
        run(jobs, Options(), dask="tcp://127.0.0.1:9")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_report(tmp_path):
    distributed = pytest.importorskip("distributed")
    folder = str(pair(tmp_path))
    here = document.render(diagnose(folder, cache=False))
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False) as cluster:
        assert document.render(diagnose(folder, cache=False, dask=cluster.scheduler_address)) == here
