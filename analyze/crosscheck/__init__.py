"""A second opinion: HolisticTraceAnalysis on the same files, figure by figure, and why ours differs where it does."""

from analyze.crosscheck.crosscheck import COLUMNS, crosscheck

__all__ = ["COLUMNS", "crosscheck"]
