from __future__ import annotations

import pytest

from collect.telemetry.visible_devices import Card, visible_uuids

CARDS = [Card(nvml_index=i, uuid=f"GPU-{i}{i}aa-{i}", name="H200") for i in range(4)]
UUIDS = [card.uuid for card in CARDS]
MIXED = [Card(nvml_index=0, uuid="GPU-a", name="T4"), Card(nvml_index=1, uuid="GPU-b", name="H200")]


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        (None, UUIDS),
        ("2,3", [UUIDS[2], UUIDS[3]]),
        (" 3 , 0 ", [UUIDS[3], UUIDS[0]]),
        ("GPU-22", [UUIDS[2]]),
        ("GPU-11aa-1,0", [UUIDS[1], UUIDS[0]]),
        ("MIG-5c6b", ["MIG-5c6b"]),
        ("", []),
        ("-1", []),
        # CUDA stops at the first entry it cannot use
        ("1,9,2", [UUIDS[1]]),
        ("1,1", [UUIDS[1]]),
        # a prefix of every card names none
        ("GPU-", []),
    ],
)
def test_the_visible_list_is_read_as_cuda_reads_it(listed: str | None, expected: list[str]):
    environ = {} if listed is None else {"CUDA_VISIBLE_DEVICES": listed}
    assert visible_uuids(CARDS, environ).uuids == tuple(expected)


def test_numbers_of_unlike_cards_mean_nothing_unless_the_order_is_set():
    assert visible_uuids(MIXED, {"CUDA_VISIBLE_DEVICES": "0"}).uuids is None
    assert "PCI_BUS_ID" in (visible_uuids(MIXED, {}).reason or "")
    ordered = {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert visible_uuids(MIXED, ordered).uuids == ("GPU-a",)
    assert visible_uuids(MIXED, {"CUDA_VISIBLE_DEVICES": "GPU-b"}).uuids == ("GPU-b",)
