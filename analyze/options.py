"""The grammar of the command line: which commands there are and what each takes.

Plain argparse: typer brings pydantic along, and both together cost every start a quarter of a second.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from analyze.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ABOUT = "Says why a training step takes as long as it does, what each fix would give back, and how sure it is."
#: every command with what it does, in the order of use
COMMANDS = {
    "collect": "Record a run: a built-in workload, or your own script after `--`.",
    "report": "Say why a step takes as long as it does and what each fix would give back.",
    "compare": "Compare two runs; with --max-regression fail (1), or say that the noise is too large (3).",
    "study": "Say what a study of several devices, batch sizes and modes came to.",
    "export": "Write a table or an analysis as Parquet or CSV.",
    "crosscheck": "Hold our figures against HolisticTraceAnalysis on the same files (extra hta).",
    "explain": "Print what a finding means, how it is measured and how to fix it.",
    "detectors": "List the detectors.",
    "app": "Open the web app, reachable from this machine only.",
}


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is an error like any other."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError with one line that says where help is."""
        raise InputError(f"{message}; see {self.prog} --help")


def parse(arguments: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """Return the command and what it is given; raises InputError for the unintelligible, SystemExit after help."""
    first = _top().parse_args(arguments[:1] or ["--help"])
    if first.version:
        return "version", argparse.Namespace()
    name = first.command
    if name not in COMMANDS:
        raise InputError(f"no command {name}; there are {', '.join(COMMANDS)}")
    parser = Parser(prog=f"stepscope {name}", description=COMMANDS[name], allow_abbrev=False)
    _OPTIONS[name](parser)
    # Options may stand between paths.
    return name, parser.parse_intermixed_args(arguments[1:])


def _top() -> Parser:
    size = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:{size}}  {about}" for name, about in COMMANDS.items())
    parser = Parser(
        prog="stepscope",
        usage="stepscope COMMAND …",
        description=f"{ABOUT}\n\n{listed}",
        epilog="stepscope COMMAND --help says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def _report(parser: Parser) -> None:
    _paths(parser)
    parser.add_argument(
        "--baseline-step-ms", type=_milliseconds, metavar="MS", help="step time without the profiler, where you know it"
    )
    _rank(parser)
    form = parser.add_mutually_exclusive_group()
    _json(form)
    form.add_argument("--html", type=Path, metavar="FILE", help="write one self-contained page")
    form.add_argument("--perfetto", type=Path, metavar="FILE", help="write a trace for ui.perfetto.dev")
    _force(parser)
    _reading(parser)
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="read the ranks on the workers of this Dask scheduler, which see the same files"
    )


def _compare(parser: Parser) -> None:
    parser.add_argument("base", metavar="BASE", help="the run to compare with")
    parser.add_argument("new", metavar="NEW", help="the run that changed")
    parser.add_argument(
        "--max-regression", type=_share, metavar="SHARE", help="fail where NEW is slower by more than this, such as 5%%"
    )
    parser.add_argument(
        "--metric", default="step_time", help="step_time (the mean, the default), step_time_median or step_time_p90"
    )
    _json(parser)
    _reading(parser)


def _study(parser: Parser) -> None:
    parser.add_argument("directory", metavar="DIR", help="a study, recorded by stepscope collect with lists of devices and so on")
    parser.add_argument("--epochs", type=_count, metavar="N", help="epochs to extrapolate training to (default: 20)")
    parser.add_argument("--images", type=_count, metavar="M", help="images an epoch has (default: 25000)")
    form = parser.add_mutually_exclusive_group()
    _json(form)
    form.add_argument("--html", type=Path, metavar="FILE", help="write one self-contained page")
    _force(parser)
    _cache(parser)


def _export(parser: Parser) -> None:
    _paths(parser)
    parser.add_argument("--table", metavar="NAME", help="table or analysis")
    parser.add_argument("--to", type=Path, metavar="FILE", help="a .parquet or .csv file; without it CSV is printed")
    parser.add_argument("--list", action="store_true", dest="names", help="name the tables, their columns and units")
    _rank(parser)
    _force(parser)
    _reading(parser)


def _crosscheck(parser: Parser) -> None:
    _paths(parser)
    _json(parser)
    _reading(parser)


def _explain(parser: Parser) -> None:
    parser.add_argument("detector", metavar="ID", help="as named in a report")


def _app(parser: Parser) -> None:
    parser.add_argument("--port", type=_port, default=8501, help="local port (default: 8501)")


def _paths(parser: Parser) -> None:
    text = "run directory, trace, folder, archive or address; without one, the newest run below ./runs"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=text)


def _rank(parser: Parser) -> None:
    parser.add_argument("--rank", type=_whole, metavar="N", help="put this rank first")


def _json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _force(parser: Parser) -> None:
    parser.add_argument("--force", action="store_true", help="write over an existing file")


def _reading(parser: Parser) -> None:
    parser.add_argument(
        "--limit", type=_limit, action="append", dest="limits", default=[], metavar="NAME=N",
        help="read more than is usual, as the message of a refused file says",
    )  # fmt: skip
    _cache(parser)


def _cache(parser: Parser) -> None:
    parser.add_argument("--no-cache", action="store_false", dest="cache", help="neither keep parsed traces nor use kept ones")


def _milliseconds(text: str) -> float:
    milliseconds = _number(text)
    if not 0 < milliseconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected milliseconds above 0, not {text}")
    return milliseconds


def _share(text: str) -> float:
    share = _number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= share < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a share such as 5% or 0.05, not {text}")
    return share


def _limit(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    number = _number(value)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a name and a number such as json_bytes=32e9, not {text}")
    return name, int(number)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, not {text}")
    return int(text)


def _count(text: str) -> int:
    count = _whole(text)
    if count == 0:
        raise argparse.ArgumentTypeError("expected at least 1")
    return count


def _port(text: str) -> int:
    port = _whole(text)
    if not 0 < port < 2**16:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, not {text}")
    return port


def _number(text: str) -> float:
    """Return the number, NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


_OPTIONS: dict[str, Callable[[Parser], None]] = {
    "report": _report,
    "compare": _compare,
    "study": _study,
    "export": _export,
    "crosscheck": _crosscheck,
    "explain": _explain,
    "detectors": lambda _: None,
    "app": _app,
}
