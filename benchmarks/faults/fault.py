"""What a planted fault is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class Loop:
    """One training loop: step(i) runs a step; loader is iterated where the fault lies in loading."""

    step: Callable[[Any], None]
    loader: Any = None
    #: called when the loop is not needed any more
    close: Callable[[], None] | None = None


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault with the finding ids that name it, and a builder of its loop (fixed or not)."""

    name: str
    names: tuple[str, ...]
    build: Callable[[bool], Loop]
    batch_size: int
    #: end the recording after so many steps, before the window with stacks, where a compiler at work would fill it
    recorded_steps: int | None = None
