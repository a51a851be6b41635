"""Ranks that take turns on one GPU."""

from __future__ import annotations

import pytest

from analyze.analyses.rank_state import COLUMNS as STATE
from analyze.engine import Together
from tests.builders import frame
from tests.findings.rank_findings import findings, outcome
from tests.rank_sets import RANK, training

ID = "shared-device"
#: each has 400 µs of kernels by themselves, 360 with a tenth lost in changing over
SHARING = {0: [{"compute": 800.0}] * 5, 1: [{"compute": 800.0}] * 5}
ONE = {0: "GPU-a", 1: "GPU-a"}


def _cards(*uuids):
    return {"devices": [{"index": place, "uuid": uuid} for place, uuid in enumerate(uuids)]}


def test_with_cards_to_move_to_it_is_a_saving():
    (finding,) = findings(training(SHARING, devices=ONE), ID, manifest=_cards("GPU-a", "GPU-b"))
    # 810 µs now, 370 with a card each
    assert (finding.kind, finding.basis, finding.step_saving_ns) == ("saving", "replayed", pytest.approx(440_000))
    assert finding.message.startswith(
        "Ranks 0 and 1 take turns on GPU 0 (a card); with a card each they would save 0.44 ms (54%)"
    )
    assert finding.caveat is None
    assert finding.evidence.select("kernels_ms", "kernels_alone_ms").rows() == [(0.8, pytest.approx(0.36))] * 2


def test_on_the_only_card_it_is_a_note_and_one_process_does_as_well():
    (note,) = findings(training(SHARING, devices=ONE), ID, manifest=_cards("GPU-a"))
    assert (note.kind, note.step_saving_ns, note.severity.value) == ("note", None, "high")
    assert note.message == (
        "Ranks 0 and 1 take turns on GPU 0 (a card). One process with the batches of all would take no longer on it. With a card "
        "each a step would take about 0.37 ms instead of 0.81."
    )
    assert [remedy.code for remedy in note.fix or ()] == ["torchrun --nproc-per-node 1 train.py"]


def test_too_few_cards_are_said():
    parts = {rank: [{"compute": 1_200.0}] * 5 for rank in range(3)}
    (finding,) = findings(training(parts, devices=dict.fromkeys(range(3), "GPU-a")), ID, manifest=_cards("GPU-a", "GPU-b"))
    assert finding.caveat == "that takes 2 more cards, and this host shows 1 that no rank uses"
    assert finding.message.startswith("Ranks 0, 1 and 2 take turns")


def test_several_shared_cards_are_counted():
    parts = {rank: [{"compute": 800.0}] * 5 for rank in range(4)}
    (note,) = findings(training(parts, devices={0: "GPU-a", 1: "GPU-a", 2: "GPU-b", 3: "GPU-b"}), ID)
    assert "take turns on GPU-a (a card), as do others on 1 more" in note.message
    # nothing is known of the host's other cards: both remedies are shown
    assert note.fix is None


def test_without_collectives_in_common_it_is_still_seen():
    state = ({"rank": rank, "host": "a", "device_uuid": "GPU-a"} for rank in range(2))
    (note,) = findings(Together({"rank_state": frame((*STATE, RANK), *state)}), ID)
    assert note.message == "Ranks 0 and 1 take turns on GPU-a. One process with the batches of all would take no longer on it."


def test_ranks_with_cards_of_their_own_share_nothing():
    assert findings(training(SHARING, devices={0: "GPU-a", 1: "GPU-b"}), ID) == ()


def test_without_ids_it_is_not_known():
    state = ({"rank": rank} for rank in range(2))
    result = outcome(Together({"rank_state": frame((*STATE, RANK), *state)}), ID)
    assert result.reason == "the recording does not say which GPU each rank used"
