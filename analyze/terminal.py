"""How does output reach the terminal? Colour and progress where somebody looks, plain text everywhere else."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from analyze.report.plain_text import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from analyze.ingest.recording import Progress
    from analyze.report.headline import Line

PLAIN_WIDTH = 80
#: lines longer than this are hard to read
WIDEST = 100
NARROWEST = 60


def width() -> int:
    """Columns to write for: the terminal's own, within reason; 80 where the output is no terminal."""
    if not sys.stdout.isatty():
        return PLAIN_WIDTH
    return min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)


def say(text: str) -> None:
    """Write one text to standard output."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def complain(text: str) -> None:
    """Write one line to standard error, whatever the text holds."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"stepscope: {shown(' '.join(text.split()))}\n")


def say_lines(lines: Sequence[Line]) -> None:
    """Write lines of styled spans: with colours on a terminal, as plain text otherwise."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        say("\n".join("".join(text for text, _ in line).rstrip() for line in lines))
        return
    from rich.console import Console  # noqa: PLC0415 - 0.1 s that only a terminal needs
    from rich.text import Text  # noqa: PLC0415

    # Spans are assembled, never parsed: a name that looks like markup stays a name.
    console = Console(file=sys.stdout, highlight=False, markup=False, soft_wrap=True)
    for line in lines:
        console.print(Text.assemble(*line))


@contextlib.contextmanager
def progress() -> Iterator[Callable[[Progress], None] | None]:
    """Yield a callback that draws a bar on standard error, or None where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - 0.1 s that only a terminal needs
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bars  # noqa: PLC0415

    columns = (
        TextColumn("reading {task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None, visible=False)

        def advance(state: Progress) -> None:
            name = shown(os.path.basename(state.file))  # noqa: PTH119 - may be an address
            bars.update(task, description=name, completed=state.bytes_done, total=state.bytes_total, visible=True)

        yield advance


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield a callback that takes a name, its number and how many there are, or None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - 0.1 s that only a terminal needs
    from rich.progress import Progress as Bars  # noqa: PLC0415

    with Bars(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=None)

        def advance(name: str, number: int, count: int) -> None:
            from rich.markup import escape  # noqa: PLC0415

            bars.update(task, description=escape(f"{what} {shown(name)}"), completed=number - 1, total=count)

        yield advance


def survive_any_character() -> None:
    """Let no name stop the output because the terminal's encoding lacks a character of it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop_output() -> None:
    """Send what is still buffered nowhere: the reader of the pipe is gone, and exit would fail on it again."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            _point_at_nothing(stream)


def _point_at_nothing(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
