"""A group of ranks whose transfers are slow."""

from __future__ import annotations

from analyze.engine import Together
from analyze.trace_info import DeviceProperties, TraceInfo
from tests.findings.rank_findings import findings, outcome
from tests.rank_sets import calls, own, training

US = 1_000
LARGE = 64 << 20


def _run(transfers, size=LARGE, steps=4):
    """Two pairs of ranks, each with a collective of its own in every step, then all meet; transfers in µs by pair."""
    rows, times = [], []
    length = 7_000 + max(transfers) + 10
    for step in range(steps):
        begin = step * length
        for pair, transfer in enumerate(transfers):
            # 1 ms before the pair's own collective, 6 ms after it, and the wait for the slower pair
            wait = length - 7_000 - transfer
            for rank in (2 * pair, 2 * pair + 1):
                own_collective = {"group": str(pair), "bytes": size} | _held(begin + 1_000, transfer)
                meeting = {"group": "all", "kind": "barrier", "bytes": 4} | _held(begin + length - wait, wait)
                rows += [{"rank": rank, "step": step} | row for row in (own_collective, meeting)]
                parts = {"own_ns": 7_000 * US, "compute_ns": 7_000 * US, "blocked_ns": (transfer + wait) * US}
                times.append({"rank": rank, "step": step, "start_ns": begin * US, "step_ns": length * US} | parts)
    return Together({"collective_calls": calls(*rows), "own_time": own(*times)})


def _held(start, dur):
    return {"start_ns": start * US, "dur_ns": dur * US, "exposed_ns": dur * US, "blocked_ns": dur * US}


def _info(name):
    return TraceInfo(producer="kineto-cuda", devices=(DeviceProperties(index=0, name=name),))


def test_the_slower_group_is_named():
    (finding,) = findings(_run((500, 2_000)), "slow-link", trace_info=_info("unheard of"))
    assert finding.location == "group 1"
    assert "at 33.6 GB/s of bus bandwidth where another group reaches 134" in finding.message
    assert finding.basis == "replayed"


def test_groups_alike_are_fine():
    assert findings(_run((500, 520)), "slow-link", trace_info=_info("unheard of")) == ()


def test_far_below_the_link_s_peak_is_a_note():
    together = training({rank: [{"compute": 100.0}] * 4 for rank in range(4)}, transfer=10_000.0)
    sized = together.frame("collective_calls").with_columns(bytes=LARGE * (together.frame("collective_calls")["bytes"] * 0 + 1))
    together = Together({"collective_calls": sized, "own_time": together.frame("own_time")})
    (finding,) = findings(together, "slow-link", trace_info=_info("NVIDIA H100 80GB HBM3"))
    assert finding.kind == "note"
    assert "where the device link of" in finding.message


def test_a_good_share_of_the_peak_is_fine():
    assert findings(_run((400, 400)), "slow-link", trace_info=_info("NVIDIA H100 80GB HBM3")) == ()


def test_small_collectives_tell_nothing():
    assert outcome(_run((500, 2_000), size=1 << 10), "slow-link").reason == (
        "no large collective with a known payload ran: nothing tells the link's rate"
    )
