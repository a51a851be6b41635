"""The command line's door: runs one command, and turns whatever happens into an exit status and one line.

0 done · 1 a gate failed · 2 the arguments or the input were unusable · 3 a gate could not decide · 4 not comparable
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import TYPE_CHECKING

from analyze import commands, options, terminal
from analyze.errors import StepscopeError

if TYPE_CHECKING:
    from collections.abc import Sequence

INTERRUPTED, PIPE_CLOSED, UNUSABLE = 130, 141, 2
#: set to see where an unexpected error came from
TRACEBACK_VARIABLE = "STEPSCOPE_TRACEBACK"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; whatever goes wrong is one line on standard error."""
    terminal.survive_any_character()
    try:
        status = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        terminal.drop_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        terminal.complain("interrupted")
        return INTERRUPTED
    except StepscopeError as error:
        terminal.complain(str(error))
        return error.exit_code
    except OSError as error:
        terminal.complain(f"{error.filename or 'cannot go on'}: {error.strerror or error}")
        return UNUSABLE
    except Exception as error:  # noqa: BLE001 - the user is owed a sentence, not a traceback
        return _complain_of_unexpected(error)
    return status


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["collect"]:
        # What follows belongs to the recorder and to the user's script, `--` included: nothing here may parse it.
        return int(import_module("collect.cli").main(arguments[1:]) or 0)
    try:
        name, given = options.parse(arguments)
    except SystemExit:  # help was printed
        return 0
    return getattr(commands, name)(**vars(given)) or 0


def _complain_of_unexpected(error: Exception) -> int:
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    where = f"set {TRACEBACK_VARIABLE}=1 to see where, and report it with the file"
    terminal.complain(f"unexpected {type(error).__name__}: {error} ({where})")
    return UNUSABLE
