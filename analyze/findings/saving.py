"""From an edit or a bounded model to a finding with its saving, bounds and confidence: the same rules for every detector."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analyze.findings.model import MODELLED_CONFIDENCE_CAP, Finding

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

#: a saving below this share of the step is within what two runs of the same script differ by
MIN_STEP_SHARE = 0.02
#: from here on three digits would be written with an exponent
EXPONENT_FROM = 999.5
#: how far a replayed saving may be off either way, beside the recording's cost: host times of one machine differ by about
#: 15 % from run to run
REPLAY_SPREAD = 0.15


def digits(value: float) -> str:
    """Three digits that matter and never an exponent: '0.0123', '12.3', '1,230'."""
    return f"{value:,.0f}" if abs(value) >= EXPONENT_FROM else f"{value:.3g}"


def ms_text(ns: float) -> str:
    """Milliseconds with three digits that matter and never an exponent."""
    return digits(ns / 1e6)


def share_text(saving_ns: float, step_ns: float) -> str:
    """'12.3 ms (45 %) of every step'."""
    return f"{ms_text(saving_ns)} ms ({saving_ns / step_ns:.0%}) of every step"


def claim_less(finding: Finding, saving_ns: float, step_ns: float) -> Finding:
    """The finding with a smaller saving: what is left of it once its causes, listed before it, are fixed."""
    claimed = finding.step_saving_ns or 0.0
    if saving_ns >= claimed:
        return finding
    return replace(
        finding,
        step_saving_ns=saving_ns,
        step_saving_low_ns=(finding.step_saving_low_ns or 0.0) * saving_ns / claimed,
        step_saving_high_ns=min(finding.step_saving_high_ns or claimed, step_ns),
        message=finding.message.replace(
            share_text(claimed, step_ns), f"{share_text(saving_ns, step_ns)}, beyond its causes, which are listed too"
        ),
    )


def replayed(
    detector: str,
    replay: Replay,
    edit: Edit,
    *,
    message: str,
    host_side: bool,
    cautious: Edit | None = None,
    optimistic: Edit | None = None,
    spread: float = REPLAY_SPREAD,
    certainty: float = 1.0,
    min_share: float = MIN_STEP_SHARE,
    **fields: Any,  # noqa: ANN401 - further fields of Finding
) -> list[Finding]:
    """One finding whose saving is replay(now) - replay(edited), or none where it is too small.

    cautious and optimistic are weaker and stronger versions of the fix for the bounds. `{saving}` in the message becomes
    the saving and its share. certainty (0..1) lowers the confidence where the evidence is thinner than the replay.
    """
    saving = replay.saving(edit)
    if saving.ns < min_share * replay.step_ns:
        return []
    low, high = saving.low_ns * (1 - spread), saving.high_ns * (1 + spread)
    if cautious is not None:
        low = min(low, replay.saving(cautious).low_ns * (1 - spread))
    if optimistic is not None:
        high = max(high, replay.saving(optimistic).high_ns * (1 + spread))
    slack = replay.error_fraction * replay.step_ns
    return [
        Finding(
            detector=detector,
            basis="replayed",
            confidence=round(replay.trust(host_side=host_side) * certainty, 3),
            step_saving_ns=saving.ns,
            step_saving_low_ns=max(low - slack, 0.0),
            step_saving_high_ns=min(high + slack, replay.step_ns),
            message=message.format(saving=share_text(saving.ns, replay.step_ns)),
            edit=edit,
            **fields,
        )
    ]


def modelled(
    detector: str,
    step_ns: float,
    *,
    saving_ns: float,
    low_ns: float,
    high_ns: float,
    message: str,
    certainty: float = 1.0,
    min_share: float = MIN_STEP_SHARE,
    **fields: Any,  # noqa: ANN401
) -> list[Finding]:
    """One finding whose saving is bounded by arithmetic, or none where it is too small."""
    if saving_ns < min_share * step_ns:
        return []
    return [
        Finding(
            detector=detector,
            basis="modelled",
            confidence=round(MODELLED_CONFIDENCE_CAP * certainty, 3),
            step_saving_ns=min(saving_ns, step_ns),
            step_saving_low_ns=max(min(low_ns, saving_ns), 0.0),
            step_saving_high_ns=min(max(high_ns, saving_ns), step_ns),
            message=message.format(saving=share_text(saving_ns, step_ns)),
            **fields,
        )
    ]
