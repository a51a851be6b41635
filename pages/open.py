"""Open something else."""

from __future__ import annotations

from pages.shell.choose import choose

choose()
