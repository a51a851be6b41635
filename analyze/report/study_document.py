"""A study as one JSON document: tables, conclusion, and for each sentence where its numbers stand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from analyze.report.document import json_value
from analyze.study.published_2023 import SOURCE

if TYPE_CHECKING:
    from analyze.study.model import Number, Study

SCHEMA_VERSION = 1


def render(study: Study) -> str:
    """Return the document as text: ASCII, indented, so that no name can drive a terminal."""
    return json.dumps(document(study), indent=2, allow_nan=False)


def document(study: Study) -> dict[str, Any]:
    """Return the document as plain JSON values; unknown is null. A number's `pointer` is a JSON pointer into it."""
    pieces = {
        "schema_version": SCHEMA_VERSION,
        "source": study.source,
        "options": dict(study.options),
        "extrapolated_to": {"epochs": study.epochs, "images_per_epoch": study.images_per_epoch},
        "cells": [
            {
                "name": cell.name,
                "mode": cell.mode,
                "device": cell.device,
                "batch_size": cell.batch_size,
                "state": cell.state,
                "reason": cell.reason,
                "verdict": study.verdicts.get(cell.name),
            }
            for cell in study.cells
        ],
        "conclusion": [
            {
                "rule": statement.rule,
                "question": statement.question,
                "text": statement.text,
                "numbers": [{"pointer": pointer(number), "value": number.value} for number in statement.numbers],
            }
            for statement in study.conclusion
        ],
        "in_short": [statement.text for statement in study.in_short],
        "published_source": SOURCE,
        "tables": {name: table.to_dicts() for name, table in study.tables.items()},
        "not_known": list(study.not_known),
    }
    return {key: json_value(piece) for key, piece in pieces.items()}


def pointer(number: Number) -> str:
    """Return where a number stands, as RFC 6901 writes it."""
    return f"/tables/{number.table}/{number.row}/{number.column}"
