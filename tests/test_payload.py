"""Bytes of the first tensor, by hand."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.payload import first_tensor_bytes


@pytest.mark.parametrize(
    ("shapes", "types", "expected"),
    [
        ("[[128, 64], [3]]", '["float", "double"]', 128 * 64 * 4),
        ("[[5]]", '["c10::BFloat16"]', 10),
        ("[[[2, 3], [4]]]", '["long int"]', 48),
        ("[[]]", '["float"]', None),
        ("[[2]]", '["Scalar"]', None),
        (None, '["float"]', None),
        ("[[2]]", None, None),
    ],
)
def test_first_tensor(shapes, types, expected):
    frame = pl.DataFrame({"s": [shapes], "t": [types]}, schema={"s": pl.Categorical, "t": pl.Categorical})
    assert frame.select(first_tensor_bytes("s", "t")).item() == expected
