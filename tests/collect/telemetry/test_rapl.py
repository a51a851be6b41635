from __future__ import annotations

from pathlib import Path

import pytest

from collect.telemetry.rapl import RaplProbe, counted_uj


@pytest.mark.parametrize(
    ("before", "after", "range_uj", "expected"),
    [
        (100, 350, 1000, 250),
        (100, 100, None, 0),
        # card P04: 262143328850 - 262143000000 + 1000000
        (262_143_000_000, 1_000_000, 262_143_328_850, 1_328_850),
        (4_000_000_000, 10_000, None, None),
    ],
)
def test_a_counter_that_starts_again_is_never_negative(before: int, after: int, range_uj: int | None, expected: int | None):
    assert counted_uj(before, after, range_uj) == expected


def package(root: Path, name: str, energy_uj: int, range_uj: int | None) -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "energy_uj").write_text(f"{energy_uj}\n")
    if range_uj is not None:
        (folder / "max_energy_range_uj").write_text(f"{range_uj}\n")
    return folder / "energy_uj"


def probe_at(root: Path, *times_s: float) -> RaplProbe:
    clock = iter(times_s)
    return RaplProbe(root, monotonic_s=lambda: next(clock))


def test_packages_are_added_up_and_their_parts_are_not(tmp_path: Path):
    first = package(tmp_path, "intel-rapl:0", 1_000_000, 10**12)
    second = package(tmp_path, "intel-rapl:1", 5_000_000, 10**12)
    package(tmp_path, "intel-rapl:0:0", 900_000, 10**12)
    probe = probe_at(tmp_path, 0.0, 2.0)
    assert probe.open()
    first.write_text("31000000\n")
    second.write_text("15000000\n")
    # 30 J + 10 J in two seconds
    assert probe.sample() == [{"energy_j": 40.0, "power_w": 20.0}]


def test_a_wrap_of_unknown_size_is_unknown_and_the_next_sample_goes_on(tmp_path: Path):
    counter = package(tmp_path, "intel-rapl:0", 4_000_000_000, None)
    probe = probe_at(tmp_path, 0.0, 1.0, 2.0)
    assert probe.open()
    counter.write_text("10000\n")
    assert probe.sample() == [{"energy_j": None, "power_w": None, "counter_wrapped": True}]
    counter.write_text("2010000\n")
    assert probe.sample() == [{"energy_j": 2.0, "power_w": 2.0}]


def test_no_counters_and_no_permission_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    probe = RaplProbe(tmp_path)
    assert not probe.open()
    assert probe.unsupported == {"cpu_energy": "this system shows no processor energy counter"}
    package(tmp_path, "intel-rapl:0", 1, 2)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refuse)
    probe = RaplProbe(tmp_path)
    assert not probe.open()
    assert probe.unsupported == {"cpu_energy": "only root may read the processor's energy counter on this system"}
