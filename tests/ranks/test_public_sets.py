"""Recordings of several ranks that others published; figures counted by hand from their JSON."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from analyze import diagnose

PUBLIC = Path(__file__).parents[3] / "shared" / "traces" / "public"
pytestmark = pytest.mark.slow


def _report(folder: str):
    path = PUBLIC / folder
    if not path.exists():
        pytest.skip("the public traces are not beside this checkout")
    return diagnose(str(path), cache=False)


def _saving(report, detector):
    return {finding.detector: finding for finding in report.findings}.get(detector)


def test_four_v100_of_which_one_sleeps():
    report = _report("pytorch__torchrec/examples/golden_training/trace/sst_long_a2a_optimizer")
    finding = _saving(report, "straggler-rank")
    assert (report.summary.rank, finding.rank) == (2, 2)
    # 1,098 ms a step; the other ranks wait 1,012 ms of it for rank 2
    assert finding.step_saving_ns == pytest.approx(931e6, rel=0.02)
    arrivals = report.table("collective_arrivals")
    waits = arrivals.group_by("rank").agg(pl.col("wait_ns").sum() / 3).sort("rank")["wait_ns"].to_list()
    assert waits == pytest.approx([1_012_028_667, 1_012_038_333, 0, 1_011_656_000], abs=1)
    assert arrivals.filter("last")["rank"].unique().to_list() == [2]
    assert arrivals.filter(pl.col("match") == 1)["transfer_ns"].unique().to_list() == [12_122_000]
    assert report.table("rank_clocks")["residual_ns"].max() < 5_000
    assert report.table("matched_collectives")["match"].n_unique() == 12


def test_two_v100():
    report = _report("pytorch__torchrec/examples/golden_training/log/resnet18")
    assert _saving(report, "straggler-rank").step_saving_ns == pytest.approx(2.2e6, rel=0.05)
    waits = report.table("collective_arrivals").group_by("rank").agg(pl.col("wait_ns").sum() / 3).sort("rank")["wait_ns"]
    assert waits.to_list() == pytest.approx([2_520_667, 0], abs=1)
    # part of that lay beside other work; rank 0 is held up for what rank 1 needs longer
    late = report.table("lateness").sort("rank")
    assert late["waits_ns"].to_list() == pytest.approx([late["excess_ns"][1], 0], rel=0.05)


def test_eight_a100_in_tensor_parallel():
    report = _report("astra-sim__astra-sim")
    assert len(report.ranks) == 8
    finding = _saving(report, "straggler-rank")
    assert finding.caveat is not None  # one step was recorded
    assert "profiler-start-skew" in {note.detector for note in report.notes}
    assert report.table("collective_arrivals").filter("profiler_start")["match"].unique().to_list() == [0]
    assert report.table("matched_collectives").group_by("match").len()["len"].unique().to_list() == [8]


def test_eight_h100():
    report = _report("KellerJordan__modded-nanogpt")
    assert report.table("matched_collectives")["match"].n_unique() == 56
    assert report.table("rank_clocks")["offset_ns"].abs().max() < 10_000
    late = report.table("lateness")
    assert late.row(0, named=True)["rank"] == 1
    assert late.row(0, named=True)["cause"] == "host"
    large = report.table("collective_costs").filter(pl.col("bytes") == 150_994_944)
    # NVLink of an H100: 450 GB/s in each direction
    assert 250e9 < large["bus_bytes_per_s"].median() < 450e9
