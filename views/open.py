"""Open something else."""

from __future__ import annotations

from views.shell.choose import choose

choose()
