"""Sides of products and bytes of passes, from shapes and types as the profiler writes them."""

from __future__ import annotations

import json

import pytest

from analyze.analyses.op_arguments import COLUMNS as ARGUMENTS
from analyze.analyses.op_costs import op_costs
from tests.builders import frame

BF16 = "c10::BFloat16"


def cost(name, shapes, types):
    """The one row for an operator."""
    row = {"name": name, "input_shapes": json.dumps(shapes), "input_types": json.dumps(types)}
    return op_costs(frame(ARGUMENTS, row)).row(0, named=True)


@pytest.mark.parametrize(
    ("name", "shapes", "sides"),
    [
        ("aten::mm", [[4, 8], [8, 2]], (4, 2, 8, 1)),
        ("aten::addmm", [[2], [4, 8], [8, 2], [], []], (4, 2, 8, 1)),
        ("aten::bmm", [[3, 4, 8], [3, 8, 2]], (4, 2, 8, 3)),
        ("aten::baddbmm", [[3, 4, 2], [3, 4, 8], [3, 8, 2]], (4, 2, 8, 3)),
        ("aten::add", [[4, 8], [4, 8]], (None, None, None, None)),
        ("aten::mm", [], (None, None, None, None)),
    ],
)
def test_sides_of_products(name, shapes, sides) -> None:
    row = cost(name, shapes, ["float"] * len(shapes))
    assert (row["m"], row["n"], row["k"], row["batch"]) == sides


def test_operations_and_bytes_of_a_product() -> None:
    row = cost("aten::bmm", [[3, 4, 8], [3, 8, 2]], [BF16, BF16])
    assert row["flops"] == 2 * 3 * 4 * 8 * 2
    assert row["product_bytes"] == 3 * (4 * 8 + 8 * 2 + 4 * 2) * 2
    assert row["element_type"] == "bf16"


def test_a_pass_reads_its_inputs_and_writes_one_as_large() -> None:
    row = cost("aten::add", [[10, 10], [10], []], ["float", "float", "Scalar"])
    assert row["streamed_bytes"] == 400 + 40 + 400
    assert (row["largest_bytes"], row["largest_elements"]) == (400, 100)


def test_a_copy_overwrites_its_first_input() -> None:
    assert cost("aten::copy_", [[10, 10], [10, 10], []], [BF16, "float", "Scalar"])["streamed_bytes"] == 200 + 400


def test_masks_and_indices_move_bytes_but_have_no_precision() -> None:
    row = cost("aten::masked_fill", [[100], [100]], ["bool", "long int"])
    assert (row["streamed_bytes"], row["element_type"]) == (100 + 800 + 800, None)


def test_a_number_is_no_tensor() -> None:
    assert cost("aten::mul", [[], [8]], ["double", "float"])["element_type"] == "fp32"


def test_a_list_of_tensors_tells_its_type_only() -> None:
    row = cost("aten::cat", [[[4, 8], [4, 8]], []], ["float", "Scalar"])
    assert (row["element_type"], row["streamed_bytes"]) == ("fp32", None)


def test_equal_calls_are_told_alike() -> None:
    row = {"name": "aten::mm", "input_shapes": "[[4, 8], [8, 2]]", "input_types": '["float", "float"]'}
    told = op_costs(frame(ARGUMENTS, {"id": 5} | row, {"id": 7} | row))
    assert told.select("id", "flops").rows() == [(5, 128.0), (7, 128.0)]
