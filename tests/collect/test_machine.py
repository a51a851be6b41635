from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from collect import machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("text", "limit"), [("8589934592", 8589934592), ("max", None), ("9223372036854771712", None)])
def test_a_containers_memory_limit_is_reported_beside_the_hosts(tmp_path: Path, text: str, limit: int | None):
    (tmp_path / "memory.max").write_text(f"{text}\n")
    assert machine.memory_limit_bytes(tmp_path) == limit


def test_without_control_groups_there_is_no_limit(tmp_path: Path):
    assert machine.memory_limit_bytes(tmp_path) is None
    assert machine._cpu_quota(tmp_path) is None


@pytest.mark.parametrize(("text", "cores"), [("250000 100000", 2.5), ("max 100000", None)])
def test_a_containers_share_of_cores_is_read(tmp_path: Path, text: str, cores: float | None):
    (tmp_path / "cpu.max").write_text(text)
    assert machine._cpu_quota(tmp_path) == cores


def test_the_older_layout_is_read_too(tmp_path: Path):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("400000")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert machine._cpu_quota(tmp_path) == 4.0
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("-1")
    assert machine._cpu_quota(tmp_path) is None


def test_this_host_describes_itself():
    host = machine.describe_host()
    assert host["cores"] >= host["cores_usable"] >= 1
    assert host["memory_bytes"] > 0
    assert set(host) == {
        "name",
        "os",
        "cpu_model",
        "cores",
        "cores_usable",
        "memory_bytes",
        "memory_limit_bytes",
    }
