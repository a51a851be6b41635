"""From a change to some ranks to a finding: the saving is what all ranks played together give back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analyze.findings.model import MODELLED_CONFIDENCE_CAP, Basis, Finding
from analyze.findings.saving import MIN_STEP_SHARE, share_text

if TYPE_CHECKING:
    from analyze.replay import Replay, Saving
    from analyze.replay.joint import JointReplay

#: a replay that does not give back the recorded step is believed less, by this multiple of its error, down to nothing
ERROR_WEIGHT, MOST_ERROR, SURE = 2.0, 0.45, 0.95
#: recording lengthens steps, but hardly by more than this factor where it is lean: recorded steps that are longer still were
#: disturbed, and what ranks did in them is not what they do
MOST_RECORDING_FACTOR = 1.35


def jointly_replayed(
    detector: str,
    joint: JointReplay,
    saving: Saving,
    *,
    message: str,
    replay: Replay | None = None,
    basis: Basis = "replayed",
    certainty: float = 1.0,
    min_share: float = MIN_STEP_SHARE,
    **fields: Any,  # noqa: ANN401 - further fields of Finding
) -> list[Finding]:
    """One finding, or none where it is too small; `{saving}` in the message becomes the saving and its share.

    Ranks were played as recorded: the saving is brought to the step time that the report gives by its share of the step.
    """
    step_ns = replay.step_ns if replay is not None else joint.recorded_ns
    if saving.ns < min_share * joint.step_ns or joint.usual_ns > MOST_RECORDING_FACTOR * step_ns:
        return []
    scale = step_ns / joint.step_ns
    self_check = SURE - ERROR_WEIGHT * min(joint.error_fraction, MOST_ERROR)
    cap = MODELLED_CONFIDENCE_CAP if basis == "modelled" else 1.0
    return [
        Finding(
            detector=detector,
            basis=basis,
            confidence=round(min(self_check, cap) * certainty, 3),
            step_saving_ns=saving.ns * scale,
            step_saving_low_ns=max(min(saving.low_ns, saving.ns), 0.0) * scale,
            step_saving_high_ns=min(max(saving.high_ns, saving.ns) * scale, step_ns),
            message=message.format(saving=share_text(saving.ns * scale, step_ns)),
            **fields,
        )
    ]
