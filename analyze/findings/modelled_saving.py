"""A saving whose new kernel times are modelled, pushed through the replay so that host-bound parts of the step stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analyze.findings.model import MODELLED_CONFIDENCE_CAP, Finding
from analyze.findings.saving import MIN_STEP_SHARE, replayed

if TYPE_CHECKING:
    from analyze.replay import Edit, Replay

#: the bounds come from weaker and stronger models; beside them, runs of one script differ by about this much
RUN_SPREAD = 0.03


def modelled_through_replay(
    detector: str,
    replay: Replay,
    edit: Edit,
    *,
    cautious: Edit,
    optimistic: Edit,
    message: str,
    certainty: float = 1.0,
    min_share: float = MIN_STEP_SHARE,
    **fields: Any,  # noqa: ANN401 - further fields of Finding
) -> list[Finding]:
    """As saving.replayed, for edits that make device work shorter by a model: the basis says so, the confidence is capped."""
    found = replayed(
        detector, replay, edit, message=message, host_side=False, cautious=cautious, optimistic=optimistic,
        spread=RUN_SPREAD, certainty=certainty, min_share=min_share, **fields,
    )  # fmt: skip
    return [
        replace(finding, basis="modelled", confidence=round(min(finding.confidence, MODELLED_CONFIDENCE_CAP * certainty), 3))
        for finding in found
    ]
