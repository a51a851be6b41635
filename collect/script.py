"""Run a user's own script, unchanged, under the recorder.

The script sees what it would see without us: its own `sys.argv`, `sys.path`, `__main__`, tracebacks and exit status.
"""

from __future__ import annotations

import runpy
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from collect.endings import INTERRUPTED, Terminated, exit_status
from collect.script_hooks import ScriptHooks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from collect.recorder import Recorder

_OUR_PACKAGES = ("collect", "analyze")
_OUR_FILES = (__file__, runpy.__file__, "<frozen runpy>")


class UnusableScriptError(ValueError):
    """There is no such script or module."""


@dataclass(frozen=True, kw_only=True)
class Script:
    """What to run: a file or a module, and its arguments."""

    name: str
    is_module: bool
    arguments: tuple[str, ...]

    @property
    def label(self) -> str:
        """What reports call the run."""
        return self.name if self.is_module else Path(self.name).stem


def parse_script(words: Sequence[str]) -> Script:
    """Read `SCRIPT ARGS` or `-m MODULE ARGS`. Raises UnusableScriptError where there is nothing to run."""
    is_module = bool(words) and words[0] == "-m"
    rest = list(words[1:] if is_module else words)
    if not rest:
        raise UnusableScriptError("nothing to run after `--`: give a script, or -m and a module")
    script = Script(name=rest[0], is_module=is_module, arguments=tuple(rest[1:]))
    if not is_module and not Path(script.name).exists():
        raise UnusableScriptError(f"{script.name}: no such file")
    return script


def run_script(script: Script, recorder: Recorder) -> int:
    """Run the script to its end and return its exit status; its traceback, where it fails, goes to stderr."""
    hooks = ScriptHooks(recorder)
    try:
        with recorder:
            hooks.install()
            _run(script)
            _note_stepless(recorder)
    except Terminated as ending:
        return exit_status(ending)
    except SystemExit as ending:
        if ending.code is not None and not isinstance(ending.code, int):
            sys.stderr.write(f"{ending.code}\n")
        return exit_status(ending)
    except BaseException as error:  # noqa: BLE001 - whatever ends the script ends us, with the script's own traceback
        trace = _of_script(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    finally:
        hooks.remove()
    return 0


def _note_stepless(recorder: Recorder) -> None:
    if recorder.steps_taken == 0:
        recorder.note("no optimizer step was seen in this process: nothing was timed or profiled")


def _run(script: Script) -> None:
    first = str(Path.cwd()) if script.is_module else str(Path(script.name).resolve().parent)
    if not getattr(sys.flags, "safe_path", False):
        # python puts the script's folder first, and for -m the current one; ours stood there
        sys.path[:1] = [first]
    _step_aside(Path(first))
    sys.argv = [script.name, *script.arguments]
    if script.is_module:
        runpy.run_module(script.name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(script.name, run_name="__main__")


def _step_aside(folder: Path) -> None:
    """Let the script import its own `collect` or `analyze`, where it has one; our modules go on without a name."""
    for package in _OUR_PACKAGES:
        theirs = (folder / f"{package}.py", folder / package / "__init__.py")
        ours = Path(__file__).resolve().parents[1]
        if folder.resolve() == ours or not any(path.exists() for path in theirs):
            continue
        for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
            del sys.modules[name]


def _of_script(trace: TracebackType | None) -> TracebackType | None:
    """Cut our own frames, and runpy's, off the top."""
    while trace is not None and trace.tb_frame.f_code.co_filename in _OUR_FILES:
        trace = trace.tb_next
    return trace
