from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from collect.telemetry.process import SamplerProcess
from collect.telemetry.sampler import sample_until


class FakeProbe:
    def __init__(self, source: str, interval_s: float, *, present: bool = True, takes_s: float = 0.0) -> None:
        self.source, self.interval_s, self.present, self.takes_s = source, interval_s, present, takes_s
        self.unsupported = {} if present else {source: "not here"}
        self.clock: Clock | None = None
        self.closed = False

    def open(self) -> bool:
        return self.present

    def devices(self) -> list[dict[str, Any]]:
        return [{"uuid": self.source}]

    def sample(self) -> list[dict[str, Any]]:
        if self.clock is not None:
            self.clock.now_s += self.takes_s
        return [{"value": 1}]

    def close(self) -> None:
        self.closed = True


class Clock:
    """Time that passes only by waiting; stops at its end."""

    def __init__(self, until_s: float) -> None:
        self.now_s, self.until_s = 0.0, until_s

    def is_set(self) -> bool:
        return self.now_s >= self.until_s

    def wait(self, timeout: float) -> None:
        # a thousandth more, so that sums of fractions do not fall short
        self.now_s += timeout + 1e-3

    def monotonic_s(self) -> float:
        return self.now_s

    def wall_ns(self) -> int:
        return round(self.now_s * 1e9)


def sampled(probes: list[FakeProbe], clock: Clock, **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    file = io.StringIO()
    sample_until(probes, file, clock, monotonic_s=clock.monotonic_s, wall_ns=clock.wall_ns, **options)
    header, *lines = [json.loads(line) for line in file.getvalue().splitlines()]
    return header["header"], lines


def test_each_probe_keeps_its_own_pace_and_gives_a_last_sample():
    fast, slow = FakeProbe("fast", 0.5), FakeProbe("slow", 2.0)
    header, lines = sampled([fast, slow], Clock(4.2))
    assert header["interval_s"] == {"fast": 0.5, "slow": 2.0}
    counts = {source: sum(line["source"] == source for line in lines) for source in ("fast", "slow")}
    assert counts == {"fast": 8 + 1, "slow": 2 + 1}
    assert fast.closed
    assert slow.closed


def test_absent_devices_are_named_in_the_header():
    header, lines = sampled([FakeProbe("gpu", 1, present=False), FakeProbe("cpu", 1)], Clock(1.5))
    assert header["unsupported"] == {"gpu": "not here"}
    assert header["devices"] == [{"uuid": "cpu"}]
    assert {line["source"] for line in lines} == {"cpu"}


def test_a_slow_device_is_not_followed_by_a_burst_and_its_time_is_the_middle_of_the_reading():
    clock = Clock(10.0)
    probe = FakeProbe("slow", 1.0, takes_s=3.0)
    probe.clock = clock
    _, lines = sampled([probe], clock)
    assert len(lines) == 4
    assert abs(lines[0]["time_ns"] - 2_500_000_000) < 10_000_000


def test_sampling_ends_when_the_training_process_is_gone():
    clock = Clock(1000.0)
    _, lines = sampled([FakeProbe("cpu", 10.0)], clock, is_wanted=lambda: clock.now_s < 25)
    assert clock.now_s < 30
    assert len(lines) == 3


def test_the_real_sampler_measures_this_process_from_a_folder_with_a_collect_of_its_own(tmp_path: Path, monkeypatch: Any):
    (tmp_path / "collect.py").write_text("raise SystemExit('the wrong one')")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "telemetry.jsonl"
    sampler = SamplerProcess(path)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (not path.exists() or path.read_text().count("\n") < 2):
        time.sleep(0.05)
    sampler.stop()
    sampler.stop()
    header, *lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert "host" in header["header"]
    host = [line for line in lines if line["source"] == "psutil"]
    assert host[0]["process_rss_bytes"] > 10_000_000
    assert all(line["time_ns"] > 1_600_000_000_000_000_000 for line in lines)


def test_the_sampler_ends_when_its_parent_is_killed(tmp_path: Path):
    path = tmp_path / "telemetry.jsonl"
    script = (
        "import sys, time; from pathlib import Path; from collect.telemetry.process import SamplerProcess\n"
        "s = SamplerProcess(Path(sys.argv[1])); print(s._process.pid, flush=True); time.sleep(60)"
    )
    root = str(Path(__file__).resolve().parents[3])
    parent = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True, cwd=root)
    pid = int(parent.stdout.readline())
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and (not path.exists() or path.read_text().count("\n") < 1):
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    while time.monotonic() < deadline and _is_running(pid):
        time.sleep(0.1)
    assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False
