"""Work by shapes: a product's operations, the bytes of everything, per step."""

from __future__ import annotations

import pytest

from analyze.analyses.op_arguments import op_arguments
from analyze.analyses.op_costs import op_costs
from analyze.analyses.shaped_work import shaped_work
from analyze.errors import MissingData
from tests.builders import table


def _work(*rows):
    ops = table("cpu_ops", *({"id": number} | row for number, row in enumerate(rows)))
    arguments = op_arguments(ops)
    return shaped_work(ops, arguments, op_costs(arguments)).row(0, named=True)


def _product(step, rows):
    shapes = f"[[{rows}, 8], [8, 16]]"
    return {"name": "aten::mm", "step": step, "input_shapes": shapes, "input_types": '["float", "float"]'}


def test_operations_and_bytes_of_a_step():
    found = _work(_product(0, 4), _product(1, 4))
    # 2 x 4 x 8 x 16; both operands, and one output as large as the larger of them
    assert found == {"flops_per_step": 1_024.0, "bytes_per_step": (4 * 8 + 8 * 16 + 8 * 16) * 4.0}


def test_half_again_as_many_samples_are_half_again_the_work():
    assert _work(_product(0, 6))["flops_per_step"] == 1.5 * _work(_product(0, 4))["flops_per_step"]


def test_without_products_bytes_tell():
    found = _work({"name": "aten::relu", "step": 0, "input_shapes": "[[100]]", "input_types": '["float"]'})
    assert found == {"flops_per_step": 0.0, "bytes_per_step": 800.0}


def test_work_outside_of_the_steps_is_nobodys():
    with pytest.raises(MissingData, match="within the steps"):
        _work(_product(None, 4))


def test_without_shapes_nothing_is_said():
    with pytest.raises(MissingData, match="no shapes"):
        _work({"name": "aten::mm", "step": 0})
