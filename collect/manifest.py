"""What ran, where, how, and how did it end? Gathers the manifest's fields; `run_directory` writes them."""

from __future__ import annotations

import platform
import sys
import time
from typing import TYPE_CHECKING, Any

from collect import machine
from collect.run_directory import FORMAT, FORMAT_VERSION, clock_anchor, write_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from collect.endings import Ending
    from collect.profiler import WindowOptions
    from collect.ranks import Placement


class Manifest:
    """The manifest of one rank, rewritten whole whenever something worth keeping is known."""

    def __init__(self, directory: Path, placement: Placement, facts: Mapping[str, Any], command: Sequence[str]) -> None:
        self._directory = directory
        self._rank = placement.rank
        self.notes: list[str] = []
        self.fields: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "stepscope_version": machine.stepscope_version(),
            "command": list(command),
            **facts,
            "python": platform.python_version(),
            "packages": machine.package_versions(),
            "host": machine.describe_host(),
            "device": None,
            "devices": [],
            "current_device_index": None,
            "rank": placement.rank,
            "local_rank": placement.local_rank,
            "world_size": placement.world_size,
            "local_world_size": placement.local_world_size,
            "threads": None,
            "interop_threads": None,
            "clock": clock_anchor(),
            "clock_end": None,
            "windows": [],
            "settled_at_step": None,
            "results": None,
            "peak_memory_allocated_bytes": None,
            "peak_memory_reserved_bytes": None,
            "exit": {"status": "running", "code": None, "message": None},
            "started_ns": time.time_ns(),
            "ended_ns": None,
        }

    def write(self) -> None:
        """Write what is known now."""
        self._learn_device()
        write_manifest(self._directory, self._rank, {**self.fields, "notes": self.notes})

    def note(self, text: str) -> None:
        """Keep a remark, once."""
        if text not in self.notes:
            self.notes.append(text)

    def add_window(self, name: str, trace: str, first_step: int, last_step: int, options: WindowOptions) -> None:
        """Name a window that has been written."""
        self.fields["windows"].append(
            {
                "name": name,
                "trace": trace,
                "first_step": first_step,
                "last_step": last_step,
                "shapes": options.shapes,
                "memory": options.memory,
                "stacks": options.stacks,
            }
        )

    def learn_threads(self) -> None:
        """Keep how many threads torch computes with: asked once the loop runs, since scripts set it as they start."""
        torch = sys.modules.get("torch")
        if torch is not None:
            self.fields["threads"] = torch.get_num_threads()
            self.fields["interop_threads"] = torch.get_num_interop_threads()

    def end(self, ending: Ending) -> None:
        """Write the end of the run."""
        self.fields["exit"] = {"status": ending.status, "code": ending.code, "message": ending.message}
        self.fields["ended_ns"] = time.time_ns()
        self.fields["clock_end"] = clock_anchor()
        self.write()

    def _learn_device(self) -> None:
        if not machine.cuda_in_use():
            self.fields["device"] = "cpu" if "torch" in sys.modules else None
            return
        import torch

        if not self.fields["devices"]:
            self.fields["devices"] = machine.describe_devices()
        self.fields["device"] = "cuda"
        self.fields["current_device_index"] = torch.cuda.current_device()
        self.fields["peak_memory_allocated_bytes"] = torch.cuda.max_memory_allocated()
        self.fields["peak_memory_reserved_bytes"] = torch.cuda.max_memory_reserved()
