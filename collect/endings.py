"""How did the run end, and with which exit status? SIGTERM included, which by itself would end Python on the spot."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM


class Terminated(SystemExit):
    """SIGTERM arrived. Left alone it ends the process with status 143, as the signal would have."""

    def __init__(self) -> None:
        super().__init__(TERMINATED)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What the manifest says about the end."""

    status: str
    code: int | None = None
    message: str | None = None


def ending_of(error: BaseException | None) -> Ending:
    """Return how a run ended that was left with this exception, or with none."""
    if error is None or isinstance(error, GeneratorExit):
        return Ending(status="done", code=0)
    if isinstance(error, KeyboardInterrupt):
        return Ending(status="interrupted", code=INTERRUPTED)
    if isinstance(error, Terminated):
        return Ending(status="terminated", code=TERMINATED)
    if isinstance(error, SystemExit):
        code = exit_status(error)
        return Ending(status="failed" if code else "done", code=code)
    text = str(error).strip().splitlines()
    return Ending(status="failed", code=1, message=f"{type(error).__name__}: {text[0] if text else ''}".rstrip(": "))


def exit_status(error: SystemExit) -> int:
    """Return the status the interpreter would end with: None is 0, a text is 1."""
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


class TerminationHandler:
    """Turns SIGTERM into an exception while installed, unless the user's code handles it already."""

    def __init__(self) -> None:
        self._installed = False
        self._process = os.getpid()

    def install(self) -> None:
        """Take over SIGTERM where nobody else has; only the main thread can."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._raise)
            self._installed = True

    def remove(self) -> None:
        """Give SIGTERM back, where it is still ours."""
        if self._installed and signal.getsignal(signal.SIGTERM) == self._raise:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._installed = False

    def _raise(self, signum: int, _frame: FrameType | None) -> Any:  # noqa: ANN401
        if os.getpid() != self._process:
            # a forked data-loading worker: die of the signal, as it would have without us
            signal.signal(signum, signal.SIG_DFL)
            os.kill(os.getpid(), signum)
            return
        raise Terminated
