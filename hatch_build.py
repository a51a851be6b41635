"""Builds the compiled trace reader as the package is installed, where there is a C compiler; without one nothing fails."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUILD = "analyze/ingest/compiled/build.py"


class CompiledReader(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the library to the wheel; an editable installation finds it beside its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before the files are collected."""
        # by path: the package itself is not installed yet, and importing it would need what it depends on
        specification = importlib.util.spec_from_file_location("stepscope_build", Path(self.root) / BUILD)
        if specification is None or specification.loader is None:
            return
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        library = module.build()
        if library is None:
            self.app.display_warning("no C compiler here: traces are read in Python, with the same results, several times slower")
            return
        build_data["artifacts"].append(library.relative_to(self.root).as_posix())
        if version != "editable":
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
