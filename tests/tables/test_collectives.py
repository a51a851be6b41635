from __future__ import annotations

import polars as pl
import pytest

from analyze.errors import MissingData
from analyze.tables.collectives import collectives
from tests.builders import family, kernel, launch, on_thread, table


def found(work=(), ops=(), annotations=(), launched=None):
    return collectives(
        family("device_events", *work), family("op_events", *ops), family("annotation_events", *annotations), launched
    )


def test_old_and_new_names_count_and_annotations_and_lookalikes_do_not():
    work = [
        kernel(0, 10, "ncclKernel_AllReduce_RING_LL_Sum_float"),
        kernel(10, 30, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
        kernel(30, 70, "ncclDevKernel_Generic_1"),
        kernel(70, 150, "my_ncclish_copy"),
    ]
    annotation = on_thread(0, 1000, "nccl:all_reduce", on_device=True)
    table_ = found(work, annotations=[annotation])
    assert table_["dur_ns"].sum() == 70


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "all-reduce"),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t", "all-gather"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "reduce-scatter"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t", "broadcast"),
        ("ncclDevKernel_SendRecv", "send-receive"),
        ("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>", "all-reduce"),
        ("ncclDevKernel_Generic_1", "other"),
    ],
)
def test_kind_by_kernel_name(name, kind):
    assert found([kernel(0, 10, name)])["kind"].cast(pl.String).to_list() == [kind]


def test_what_the_writer_calls_it_beats_the_kernel_s_name():
    work = kernel(0, 10, "ncclDevKernel_SendRecv", collective_name="all_to_allv")
    assert found([work])["kind"].cast(pl.String).to_list() == ["all-to-all"]


def test_bytes_are_the_larger_side_and_unknown_without_an_element_type():
    work = [
        kernel(0, 10, "ncclDevKernel_AllGather", in_elements=100, out_elements=400, element_type="BFloat16", group_size=4),
        kernel(20, 30, "ncclDevKernel_AllGather", in_elements=100, out_elements=400),
    ]
    assert found(work)["bytes"].to_list() == [800, None]


def test_sequence_counts_within_group_and_kind():
    work = [
        kernel(0, 10, "ncclDevKernel_AllReduce", group_name="0"),
        kernel(10, 20, "ncclDevKernel_AllReduce", group_name="1"),
        kernel(20, 30, "ncclDevKernel_AllReduce", group_name="0"),
    ]
    assert found(work)["sequence"].to_list() == [0, 0, 1]


def test_collectives_without_correlation_are_linked_to_nothing():
    launched = table("launches", launch(0, 5, id=1, correlation=None), launch(6, 9, id=2, correlation=7, step=1))
    work = [kernel(10, 20, "ncclDevKernel_AllReduce"), kernel(20, 30, "ncclDevKernel_AllReduce", correlation=7)]
    assert found(work, launched=launched).select("launch_id", "step").rows() == [(None, None), (2, 1)]


def test_gloo_collectives_stand_in_where_no_device_takes_part():
    table_ = found(ops=[on_thread(0, 50, "gloo:all_reduce"), on_thread(60, 70, "aten::add")])
    assert table_.select(pl.col("kind").cast(pl.String), "dur_ns", "device").rows() == [("all-reduce", 50, None)]


def test_the_size_of_a_gloo_collective_is_that_of_its_shapes_where_they_were_recorded():
    shapes = {"input_dims": "[[128, 2]]", "input_types": '["float"]'}
    labelled = on_thread(0, 50, "gloo:all_reduce", on_device=False, **shapes)
    assert found(annotations=[labelled, on_thread(60, 90, "gloo:all_reduce", on_device=False)])["bytes"].to_list() == [1024, None]


def test_a_run_without_collectives():
    with pytest.raises(MissingData, match="no collectives"):
        found([kernel(0, 10, "gemm")], annotations=[on_thread(0, 10, "nccl:all_reduce", on_device=True)])
