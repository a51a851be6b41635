"""Entry of `python -m analyze`."""

from __future__ import annotations

import sys

from analyze.cli import main

if __name__ == "__main__":
    sys.exit(main())
