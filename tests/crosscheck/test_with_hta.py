"""HTA itself on the same files: every figure is equal within a tenth of a percent, or the trace says why not."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.crosscheck import crosscheck
from tests.crosscheck.recordings import trace

pytest.importorskip("hta", reason="HolisticTraceAnalysis is not installed (the extra 'hta')")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nccl_data", "trace_filter", "ns_resolution", "alexnet", "mi250", "clean", "pageable"])
@pytest.mark.filterwarnings("ignore")
def test_every_figure_is_equal_or_explained(name):
    found = crosscheck([trace(name)])
    assert found.height > 10
    unexplained = found.filter(~pl.col("agrees"), pl.col("explanation").is_null())
    assert unexplained.is_empty(), unexplained.select("question", "name", "ours", "hta").rows()
