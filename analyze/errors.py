"""Everything stepscope raises on purpose.

StepscopeError                 one clear line for the user: which file, what was found, what to do
├── InputError                 the arguments or the input were unusable (exit 2)
│   ├── TraceFormatError       a file is not a trace, or is damaged beyond salvage
│   ├── LimitExceeded          a size cap was hit while reading; the message names the option that raises it
│   └── UnknownName            no such table, detector or run; the message offers the close ones
├── MissingData                this run lacks what an analysis needs; becomes "skipped, because …"
├── GateFailed                 `compare` found a regression (exit 1)
├── GateUndecided              `compare` could not tell (exit 3)
└── NotComparable              the two runs cannot be held against each other (exit 4)
"""

from __future__ import annotations


class StepscopeError(Exception):
    """Base of all errors whose text is meant for the user."""

    exit_code = 2


class InputError(StepscopeError):
    """The arguments or the input were unusable."""


class TraceFormatError(InputError):
    """A file is not a trace, or is damaged beyond salvage."""


class LimitExceeded(InputError):
    """A size, nesting or member cap was hit while reading."""


class UnknownName(InputError):
    """No table, analysis, detector or run has this name."""


class MissingData(StepscopeError):
    """The run lacks what an analysis needs; the text completes 'skipped: …'."""


class GateFailed(StepscopeError):
    """A comparison found a regression beyond the allowed one."""

    exit_code = 1


class GateUndecided(StepscopeError):
    """The noise is too large to decide a gate either way."""

    exit_code = 3


class NotComparable(StepscopeError):
    """Two runs differ in what they ran."""

    exit_code = 4
