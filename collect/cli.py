"""The command line of `python -m collect` and `stepscope collect`: options in, exit status out."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from collect.endings import INTERRUPTED
from collect.progress import choose_progress
from collect.ranks import placement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UNUSABLE = 2
_WORKLOADS = ("image-classifier",)
_DEVICES = ("auto", "cpu", "cuda")
_MODES = ("train", "infer")
_BASELINE_STEPS = 30
_EPILOG = """\
-- SCRIPT [ARGS]      record a script of your own, unchanged
-- -m MODULE [ARGS]   the same for a module
Steps of a script are found by its optimizer steps; its exit status is passed on.

--device cpu,cuda --batch-size 64,128 --mode train,infer
                      a study: one run per combination, in one folder; `stepscope study DIR` says what came out"""


def main(argv: list[str] | None = None) -> int:
    """Record a run and return the exit status: the script's own, 2 for unusable arguments, 130 after Ctrl-C."""
    argv = sys.argv[1:] if argv is None else argv
    ours, script = _split(argv)
    options = _parser().parse_args(ours)
    # the profiler's library writes its own progress to stderr; it reads this when torch is loaded
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    command = ["stepscope", "collect", *argv]
    if script is not None:
        return _record_script(options, script, command)
    if options.resume is not None or any(len(getattr(options, name) or ()) > 1 for name in _LISTS):
        return _record_study(options, command)
    return _record_workload(options, command)


def _split(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Cut at the first `--`: what follows is the user's own."""
    arguments = list(argv)
    if "--" not in arguments:
        return arguments, None
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stepscope collect",
        description="Record a training run: step times, profiler windows, telemetry.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="run directory (default: runs/<timestamp>-<label>)")
    parser.add_argument(
        "--baseline-steps",
        type=_count,
        metavar="N",
        help=f"steps of each unprofiled stretch (default: {_BASELINE_STEPS}; in a study 8, and 25 of inference)",
    )
    parser.add_argument("--expect-steps", type=_count, metavar="N", help="with SCRIPT: it takes about so many steps")
    parser.add_argument("--no-profile", action="store_true", help="step times and telemetry only")
    parser.add_argument("--no-telemetry", action="store_true", help="do not sample devices and host")
    _add_workload_options(parser)
    return parser


def _add_workload_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("built-in workload (refused with SCRIPT)")
    group.add_argument("--device", type=_list_of(_device), metavar="LIST", help="auto, cpu, cuda (default: auto)")
    group.add_argument("--workload", choices=_WORKLOADS, help="default: image-classifier")
    group.add_argument("--model", metavar="NAME", help="a torchvision classification model (default: resnet18)")
    group.add_argument("--data", metavar="FOLDER", help="images, a folder per class (default: generated JPEG files)")
    group.add_argument("--batch-size", type=_list_of(_count), metavar="LIST", help="images per step and rank")
    group.add_argument("--mode", type=_list_of(_mode), metavar="LIST", help="train, infer (default: train)")
    group.add_argument(
        "--steps",
        type=_count,
        metavar="N",
        help="steps to train (default: until recorded); in a study those after which results are compared (default: 32)",
    )
    group.add_argument("--workers", type=_count_or_none, metavar="N", help="data loading processes; 0: none")
    group.add_argument("--precision", choices=("fp32", "bf16", "fp16"), help="default: fp32")
    group.add_argument("--image-size", type=_count, metavar="PIXELS", help="what the model sees")
    group.add_argument("--images", type=_count, metavar="N", help="generated images to train on")
    group.add_argument("--resume", type=Path, metavar="DIR", help="go on with a study that was ended; takes no other option")


def _list_of(item: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    def items(text: str) -> list[Any]:
        return [item(part.strip()) for part in text.split(",")]

    return items


def _device(text: str) -> str:
    return _one_of(text, _DEVICES)


def _mode(text: str) -> str:
    return _one_of(text, _MODES)


def _one_of(text: str, known: Sequence[str]) -> str:
    if text not in known:
        raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(known)}")
    return text


def _count(text: str) -> int:
    number = _count_or_none(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _count_or_none(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number")
    return int(text)


#: what may be a list, which makes a study
_LISTS = ("device", "batch_size", "mode")
_PLAIN = ("model", "data", "steps", "workers", "precision", "image_size", "images")
_OF_WORKLOAD = (*_LISTS, "workload", *_PLAIN, "resume")


def _record_study(options: argparse.Namespace, command: Sequence[str]) -> int:
    try:
        from collect.study.command import UnusableOptionsError, UnusableStudyError, begin, resume
        from collect.workloads.options import Options
    except ImportError as error:
        return _refuse(f"a study needs torch and torchvision ({error}): pip install 'stepscope[train]'")
    given = {name: getattr(options, name) for name in _PLAIN if getattr(options, name) is not None}
    lists = [getattr(options, name) or [] for name in _LISTS]
    recording = {
        "profile": not options.no_profile,
        "telemetry": not options.no_telemetry,
        "baseline_steps": options.baseline_steps,
    }
    refusal = _why_no_study(options, others=bool(given or options.out or any(lists)))
    if refusal is not None:
        return _refuse(refusal)
    try:
        if options.resume is not None:
            return resume(options.resume, command)
        return begin(Options(**given), *lists, out=options.out, recording=recording, command=command)
    except (UnusableOptionsError, UnusableStudyError, OSError) as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED


def _why_no_study(options: argparse.Namespace, *, others: bool) -> str | None:
    if options.expect_steps is not None:
        return "--expect-steps belongs to a script"
    if options.resume is not None and others:
        return "--resume goes on with a study as it was begun: give it no other option"
    return None


def _record_workload(options: argparse.Namespace, command: Sequence[str]) -> int:
    if options.expect_steps is not None:
        return _refuse("--expect-steps belongs to a script; the built-in workload takes --steps")
    try:
        from collect.workloads import image_classifier
    except ImportError as error:
        return _refuse(f"the built-in workload needs torch and torchvision ({error}): pip install 'stepscope[train]'")
    given = {name: getattr(options, name) for name in _PLAIN}
    given |= {name: (getattr(options, name) or [None])[0] for name in _LISTS}
    chosen = image_classifier.Options(**{name: value for name, value in given.items() if value is not None})
    progress = choose_progress(rank=placement().rank, bar=True)
    try:
        image_classifier.run(
            chosen,
            options.out,
            baseline_steps=options.baseline_steps or _BASELINE_STEPS,
            profile=not options.no_profile,
            telemetry=not options.no_telemetry,
            progress=progress,
            command=command,
        )
    except (image_classifier.UnusableOptionsError, ValueError) as error:
        return _refuse(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        progress.close()
    return 0


def _record_script(options: argparse.Namespace, words: Sequence[str], command: Sequence[str]) -> int:
    from collect.recorder import Recorder
    from collect.script import UnusableScriptError, parse_script, run_script

    refused = [name for name in _OF_WORKLOAD if getattr(options, name) is not None]
    if refused:
        flag = "--" + refused[0].replace("_", "-")
        return _refuse(f"{flag} belongs to the built-in workload; give a script's own options after its name")
    try:
        script = parse_script(words)
        recorder = Recorder(
            options.out,
            label=script.label,
            steps=options.expect_steps,
            baseline_steps=options.baseline_steps or _BASELINE_STEPS,
            profile=not options.no_profile,
            telemetry=not options.no_telemetry,
            options={"script": script.name, "module": script.is_module, "arguments": list(script.arguments)},
            command=command,
        )
    except (UnusableScriptError, ValueError) as error:
        return _refuse(str(error))
    return run_script(script, recorder)


def _refuse(text: str) -> int:
    sys.stderr.write(f"stepscope collect: {text}\n")
    return UNUSABLE
