"""Entry of `python -m collect.telemetry FILE`: sample this host into a file until stopped."""

from __future__ import annotations

import sys

from collect.telemetry.sampler import main

if __name__ == "__main__":
    sys.exit(main())
