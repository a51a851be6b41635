"""What came out of a study: the same training on several devices, at several batch sizes, held against one another.

``read_study(folder)`` gives a Study: tables, a conclusion in sentences, each with the numbers it rests on.
"""

from __future__ import annotations

from analyze.study.model import Study
from analyze.study.study import read_study

__all__ = ["Study", "read_study"]
