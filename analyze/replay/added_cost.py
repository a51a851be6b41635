"""An edit for fixes that cost the host something: some calls come later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from analyze.replay.program import Ints, Program

    Edit = Callable[[Program], Program]


def with_added_cost(call_ids: Ints, extra_ns: float) -> Edit:
    """Before each of these calls the host spends extra_ns more, at unprofiled speed."""

    def edit(program: Program) -> Program:
        # what recording costs is taken off a gap's events, so time that no event stands for stays
        return replace(program, gap=program.gap + extra_ns * np.isin(program.call_id, call_ids))

    return edit
