from __future__ import annotations

import os
import signal

import pytest

from collect.endings import Ending, Terminated, TerminationHandler, ending_of, exit_status


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (None, Ending(status="done", code=0)),
        (SystemExit(), Ending(status="done", code=0)),
        (SystemExit(0), Ending(status="done", code=0)),
        (SystemExit(3), Ending(status="failed", code=3)),
        (SystemExit("no data"), Ending(status="failed", code=1)),
        (KeyboardInterrupt(), Ending(status="interrupted", code=130)),
        (Terminated(), Ending(status="terminated", code=143)),
        (ValueError("bad\nmore"), Ending(status="failed", code=1, message="ValueError: bad")),
        (ValueError(), Ending(status="failed", code=1, message="ValueError")),
    ],
)
def test_each_way_to_end_has_its_status(error: BaseException | None, ending: Ending):
    assert ending_of(error) == ending


def test_exit_status_is_the_interpreters():
    assert [exit_status(SystemExit(code)) for code in (None, 0, 7, "text")] == [0, 0, 7, 1]


def test_sigterm_becomes_an_exception_and_is_given_back():
    handler = TerminationHandler()
    handler.install()
    with pytest.raises(Terminated) as caught:
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 143
    handler.remove()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_handler_of_the_users_own_is_left_alone():
    seen: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: seen.append(number))
    try:
        handler = TerminationHandler()
        handler.install()
        os.kill(os.getpid(), signal.SIGTERM)
        handler.remove()
        os.kill(os.getpid(), signal.SIGTERM)
        assert seen == [signal.SIGTERM, signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
