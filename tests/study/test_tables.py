"""Each table from cells made up for it; expected values worked out by hand."""

from __future__ import annotations

import pytest

from analyze.study.stretch import spans, stretch
from analyze.study.tables.agreement import agreement
from analyze.study.tables.batch_effect import batch_effect
from analyze.study.tables.causes import causes
from analyze.study.tables.energy import energy
from analyze.study.tables.gpu_work import gpu_work
from analyze.study.tables.inference import inference
from analyze.study.tables.losses import losses
from analyze.study.tables.memory import memory
from analyze.study.tables.operators import operators
from analyze.study.tables.over_time import over_time
from analyze.study.tables.results import results, wilson
from analyze.study.tables.speed_up import speed_up
from analyze.study.tables.throughput import throughput
from analyze.study.tables.training_time import training_time
from analyze.study.tables.utilisation import utilisation
from tests.study.made_up import GIB, MS, START_NS, cell, samples, steps

pl = pytest.importorskip("polars")


def test_only_unprofiled_steps_are_measured_and_what_lies_between_them_is_not() -> None:
    log = steps(100.0, count=6).with_columns(
        phase=pl.Series(
            ["settling", "settling", "baseline", "baseline", "times", "times", "baseline", "baseline"], dtype=pl.Categorical
        )
    )
    assert stretch(log)["step"].to_list() == [2, 3, 6, 7]
    assert spans(stretch(log)) == [
        (START_NS + 1000 * MS, START_NS + 1200 * MS),
        (START_NS + 1400 * MS, START_NS + 1600 * MS),
    ]


def test_throughput_counts_images_by_time_and_gives_an_interval() -> None:
    row = throughput([cell(step_log=steps([90.0, 110.0] * 10, 64, wait_ms=25.0))]).row(0, named=True)
    assert (row["steps"], row["images"], row["stretch_s"], row["step_ms"]) == (20, 1280, pytest.approx(2.0), pytest.approx(100.0))
    assert row["images_per_s"] == pytest.approx(640.0)
    assert row["input_wait_share"] == pytest.approx(0.25)
    assert 580 < row["images_per_s_low"] < 640 < row["images_per_s_high"] < 720


def test_two_steps_have_a_mean_and_no_interval() -> None:
    row = throughput([cell(step_log=steps([100.0, 100.0]))]).row(0, named=True)
    assert row["images_per_s"] == pytest.approx(640.0)
    assert (row["images_per_s_low"], row["images_per_s_high"]) == (None, None)


def test_a_cell_without_steps_has_no_row() -> None:
    assert throughput([cell(step_log=steps([]).head(0))]).is_empty()


def test_training_time_is_extrapolated_from_the_rate_with_its_spread() -> None:
    rates = throughput([cell("cpu", step_ms=100.0), cell("cpu", mode="infer", step_ms=10.0)])
    row = training_time(rates, 20, 25_000).row(0, named=True)
    # 500,000 images at 640 a second
    assert row["hours"] == pytest.approx(500_000 / 640 / 3600)
    assert row["hours_low"] <= row["hours"] <= row["hours_high"]
    assert row["extrapolated"] is True
    assert training_time(rates, 20, 25_000).height == 1


@pytest.mark.parametrize(("gpu_ms", "factor"), [(10.0, 10.0), (200.0, 0.5), (100.0, 1.0)])
def test_speed_up_is_a_ratio_of_step_times_with_its_interval(gpu_ms: float, factor: float) -> None:
    noisy = [[ms * 0.95, ms * 1.05] * 10 for ms in (100.0, gpu_ms)]
    row = speed_up([cell("cpu", step_ms=noisy[0]), cell("cuda", step_ms=noisy[1])]).row(0, named=True)
    assert row["speed_up"] == pytest.approx(factor)
    assert row["speed_up_low"] <= factor <= row["speed_up_high"]
    assert row["speed_up_high"] / row["speed_up_low"] < 1.3


def test_work_is_told_from_waiting_for_input() -> None:
    cells = [cell("cpu", step_log=steps(100.0, wait_ms=0.0)), cell("cuda", step_log=steps(40.0, wait_ms=30.0))]
    row = speed_up(cells).row(0, named=True)
    assert (row["speed_up"], row["input_wait_share"], row["work_speed_up"]) == pytest.approx((2.5, 0.75, 10.0))


def test_steps_that_only_wait_have_no_work_to_compare() -> None:
    row = speed_up([cell("cpu", step_log=steps(100.0)), cell(step_log=steps(40.0, wait_ms=40.0))]).row(0, named=True)
    assert (row["input_wait_share"], row["work_speed_up"]) == (1.0, None)
    unknown = steps(40.0).with_columns(input_wait_ns=pl.lit(None, dtype=pl.Int64))
    row = speed_up([cell("cpu"), cell(step_log=unknown)]).row(0, named=True)
    assert (row["input_wait_share"], row["work_speed_up"]) == (None, None)


def test_only_equal_modes_and_batch_sizes_are_compared() -> None:
    assert speed_up([cell("cpu", 64), cell("cuda", 128), cell("cuda", 64, "infer")]).is_empty()


BUSY = samples(
    ("nvml", "GPU-a", "utilisation_percent", [0.0, 0.0, 0.0, 40.0, 60.0, 50.0]),
    ("nvml", "GPU-b", "utilisation_percent", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ("psutil", None, "cpu_percent", [100.0, 100.0, 100.0, 20.0, 30.0, 40.0]),
)


def test_utilisation_is_that_of_the_measured_steps() -> None:
    # steps are measured from second 1 to 3; samples of second 1, 1.5 and 2 lie within
    rows = {row["part"]: row for row in utilisation([cell(telemetry=BUSY)]).to_dicts()}
    assert (rows["GPU 0"]["mean_percent"], rows["GPU 0"]["idle_percent"], rows["GPU 0"]["samples"]) == (50.0, 50.0, 3)
    assert (rows["GPU 1"]["mean_percent"], rows["CPU"]["mean_percent"]) == (0.0, 30.0)


def test_what_was_sampled_too_rarely_has_no_row() -> None:
    assert utilisation([cell(telemetry=BUSY.head(6))]).is_empty()
    assert utilisation([cell()]).is_empty()


def test_energy_is_the_counter_over_the_measured_steps() -> None:
    # the counter grows by 50 J every half second: 100 W over the two measured seconds of 1280 images
    counter = samples(("nvml", "GPU-a", "energy_j", [50.0 * index for index in range(9)]))
    row = energy([cell(telemetry=counter)], 25_000).row(0, named=True)
    assert (row["part"], row["source"], row["mean_w"]) == ("GPU 0", "counter", pytest.approx(100.0))
    assert row["image_j"] == pytest.approx(200 / 1280)
    # each edge may be off by half of what was counted between two samples
    assert row["image_high_j"] - row["image_j"] == pytest.approx(50 / 1280)
    assert row["epoch_wh"] == pytest.approx(200 / 1280 * 25_000 / 3600)
    assert (row["idle_w"], row["highest_c"], row["limit_w"]) == (None, None, None)
    limited = cell(telemetry=counter, power_limits_w={"GPU-a": 300.0})
    assert energy([limited], 25_000)["limit_w"].to_list() == [300.0]


def test_without_a_counter_power_is_integrated_and_less_sure() -> None:
    power = samples(("nvml", "GPU-a", "power_w", [100.0] * 9))
    row = energy([cell(telemetry=power)], 25_000).row(0, named=True)
    assert (row["source"], row["image_j"]) == ("power", pytest.approx(200 / 1280))
    assert row["image_high_j"] - row["image_j"] == pytest.approx((50 + 20) / 1280)


def test_energy_that_samples_do_not_cover_is_not_guessed() -> None:
    counter = samples(("nvml", "GPU-a", "energy_j", [0.0, 50.0, 100.0, 150.0]))
    assert energy([cell(telemetry=counter)], 25_000).is_empty()


def test_temperature_alone_leaves_energy_unknown() -> None:
    warm = samples(("nvml", "GPU-a", "temperature_c", [30.0, 30.0, 30.0, 60.0, 69.0, 68.0]))
    row = energy([cell(telemetry=warm)], 25_000).row(0, named=True)
    assert (row["highest_c"], row["mean_w"], row["image_j"]) == (69.0, None, None)


def test_what_an_idle_card_draws_is_measured_while_the_cpu_trains() -> None:
    idle = samples(("nvml", "GPU-a", "power_w", [25.0] * 9), ("nvml", "GPU-a", "utilisation_percent", [0.0] * 9))
    busy = samples(("nvml", "GPU-a", "power_w", [100.0] * 9), ("nvml", "GPU-a", "utilisation_percent", [50.0] * 9))
    rows = {row["device"]: row for row in energy([cell("cpu", telemetry=idle), cell(telemetry=busy)], 25_000).to_dicts()}
    assert (rows["cuda"]["idle_w"], rows["cuda"]["idle_share"]) == (pytest.approx(25.0), pytest.approx(0.25))


def test_a_card_that_others_use_meanwhile_is_not_idle() -> None:
    used = samples(("nvml", "GPU-a", "power_w", [90.0] * 9), ("nvml", "GPU-a", "utilisation_percent", [80.0] * 9))
    assert energy([cell("cpu", telemetry=used)], 25_000)["idle_w"].to_list() == [None]


def test_work_is_shared_out_among_gpus_of_one_cell() -> None:
    cells = [cell(telemetry=BUSY), cell("cpu", telemetry=BUSY)]
    rows = gpu_work(utilisation(cells), energy(cells, 25_000)).select("cell", "part", "share_of_busiest", "mean_w").rows()
    assert rows == [("train-cuda-64", "GPU 0", 1.0, None), ("train-cuda-64", "GPU 1", 0.0, None)]


def test_memory_is_the_highest_of_the_measured_steps() -> None:
    used = samples(
        ("nvml", "GPU-a", "memory_used_bytes", [0.0, 0.0, 0.0, 3.0 * GIB, 4.0 * GIB]),
        ("psutil", None, "memory_used_bytes", [0.0, 0.0, 0.0, 30.0 * GIB, 32.0 * GIB]),
        ("psutil", None, "process_rss_bytes", [0.0, 0.0, 0.0, 2.0 * GIB, 2.0 * GIB]),
        ("psutil", None, "process_children_rss_bytes", [0.0, 0.0, 0.0, 1.0 * GIB, 1.0 * GIB]),
    )
    cards = {
        "devices": [{"index": 0, "memory_bytes": 80 * GIB}, {"index": 1, "memory_bytes": 48 * GIB}],
        "current_device_index": 1,
    }
    row = memory([cell(telemetry=used, manifest={"peak_memory_allocated_bytes": 3 * GIB, **cards})]).row(0, named=True)
    assert (row["device_used_bytes"], row["host_used_bytes"], row["process_bytes"]) == (4 * GIB, 32 * GIB, 3 * GIB)
    assert (row["device_allocated_bytes"], row["device_total_bytes"], row["host_total_bytes"]) == (3 * GIB, 48 * GIB, 64 * GIB)
    on_cpu = memory([cell("cpu", telemetry=used)]).row(0, named=True)
    assert (on_cpu["device_used_bytes"], on_cpu["device_allocated_bytes"]) == (None, None)


def test_latency_leaves_the_wait_for_input_out() -> None:
    log = steps([100.0] * 99 + [200.0], 64, wait_ms=40.0)
    one = cell(mode="infer", step_log=log, manifest={"results": {"single_image_ns": [2 * MS, 4 * MS, 6 * MS]}})
    row = inference([one, cell()], throughput([one])).row(0, named=True)
    assert (row["batches"], row["batch_p50_ms"], row["image_p50_ms"]) == (100, pytest.approx(60.0), pytest.approx(60 / 64))
    # the 99th of a hundred lies just above 60, a hundredth of the way to the slowest
    assert row["batch_p99_ms"] == pytest.approx(61.0)
    assert (row["single_images"], row["single_image_p50_ms"]) == (3, pytest.approx(4.0))
    assert inference([one, cell()], throughput([one])).height == 1


def test_results_are_a_share_with_its_interval() -> None:
    kept = {"after_steps": 10, "held_out_images": 100, "held_out_correct": 98, "held_out_loss": 0.1}
    one = cell(step_log=steps(100.0, losses=[float(step) for step in range(22)]), manifest={"results": kept})
    row = results([one]).row(0, named=True)
    # mean of the losses of steps 2 to 9
    assert (row["accuracy"], row["loss"]) == (0.98, 5.5)
    assert (row["accuracy_low"], row["accuracy_high"]) == (pytest.approx(0.930, abs=1e-3), pytest.approx(0.9945, abs=1e-3))
    assert wilson(0, 10)[0] == 0.0


def test_a_model_that_was_not_trained_has_no_accuracy() -> None:
    row = results([cell(mode="infer", manifest={"results": {"trained": False, "single_image_ns": [1]}})]).row(0, named=True)
    assert (row["accuracy"], row["held_out_images"]) == (None, None)
    assert results([cell()]).is_empty()


def trained(device: str, losses: list[float], correct: int) -> object:
    kept = {"after_steps": 4, "held_out_images": 100, "held_out_correct": correct, "held_out_loss": 1.0}
    return cell(device, step_log=steps([100.0] * (len(losses) - 2), losses=losses), manifest={"results": kept})


def test_agreement_compares_equal_steps_only() -> None:
    # after the fourth step the GPU went on alone
    cells = [trained("cpu", [2.0, 2.0, 1.0, 1.0], 90), trained("cuda", [2.0, 2.0, 1.1, 0.9, 77.0], 91)]
    row = agreement(cells, results(cells)).row(0, named=True)
    assert (row["steps"], row["steps_compared"], row["first_loss_difference"]) == (4, 4, 0.0)
    assert row["loss_difference"] == pytest.approx(0.05 / 1.5)
    assert row["accuracy_difference"] == pytest.approx(0.01)
    assert row["accuracy_noise"] == pytest.approx(0.082, abs=0.002)


def test_losses_are_those_before_the_comparison() -> None:
    log = steps([100.0] * 3, losses=[2.0, 1.5, None, 1.0, 77.0])
    one = cell(step_log=log, manifest={"results": {"after_steps": 4}})
    assert losses([one, cell(mode="infer")]).select("cell", "step", "loss").rows() == [
        ("train-cuda-64", 0, 2.0),
        ("train-cuda-64", 1, 1.5),
        ("train-cuda-64", 3, 1.0),
    ]
    assert losses([cell(step_log=log)]).height == 4


def test_devices_that_were_given_other_data_start_from_other_losses() -> None:
    cells = [trained("cpu", [2.0, 2.0, 1.0, 1.0], 90), trained("cuda", [3.0, 2.0, 1.0, 1.0], 20)]
    row = agreement(cells, results(cells)).row(0, named=True)
    assert row["first_loss_difference"] == 0.5
    assert abs(row["accuracy_difference"]) > row["accuracy_noise"]


def test_operators_are_ranked_by_the_time_on_the_cells_own_device() -> None:
    ops = pl.DataFrame({"operator": ["conv", "add"], "host_self_ns": [1e6, 3e6], "device_self_ns": [6e6, 2e6]})
    cells = [cell(operators=ops, copy_to_device_ns=1e6), cell("cpu", operators=ops.with_columns(device_self_ns=None))]
    found = operators(cells)
    # of steps of 100 ms
    assert found["step_share"].to_list() == pytest.approx([0.06, 0.02, 0.01, 0.03, 0.01])
    assert found.select("device", "operator", "place", "ms", "share").rows() == [
        ("cuda", "conv", 1, 6.0, 0.75),
        ("cuda", "add", 2, 2.0, 0.25),
        ("cuda", "copy to the GPU", None, 1.0, 0.125),
        ("cpu", "add", 1, 3.0, 0.75),
        ("cpu", "conv", 2, 1.0, 0.25),
    ]


def test_causes_are_shares_of_the_step() -> None:
    profiled = cell(parts_ns={"compute": 1e6, "idle_input_wait": 3e6, "exposed_copy": 0.0}, profiled_steps=3)
    rows = causes([profiled, cell("cpu")]).select("part", "ms", "share", "profiled_steps").rows()
    assert rows == [("idle_input_wait", 3.0, 0.75, 3), ("compute", 1.0, 0.25, 3)]


def test_a_larger_batch_is_held_against_the_next_smaller_one() -> None:
    cells = [cell(batch=128, step_ms=150.0), cell(batch=64, step_ms=100.0), cell("cpu", 64)]
    changes = batch_effect(throughput(cells), memory(cells), utilisation(cells), energy(cells, 25_000))
    row = changes.row(0, named=True)
    assert (changes.height, row["from_batch"], row["to_batch"]) == (1, 64, 128)
    # 640 images a second became 853
    assert row["throughput_change"] == pytest.approx(1 / 3)
    assert row["step_ms_change"] == pytest.approx(0.5)
    assert (row["device_memory_change"], row["utilisation_from_percent"], row["image_energy_change"]) == (None, None, None)


def test_what_a_larger_batch_changes_in_energy_and_waiting_keeps_both_ends() -> None:
    def counted(every_j: float) -> pl.DataFrame:
        return samples(("nvml", "GPU-a", "energy_j", [every_j * index for index in range(9)]))

    before = cell(batch=64, step_log=steps(100.0, 64, wait_ms=10.0), telemetry=counted(50.0))
    after = cell(batch=128, step_log=steps(100.0, 128, wait_ms=50.0), telemetry=counted(80.0))
    cells = [before, after]
    row = batch_effect(throughput(cells), memory(cells), utilisation(cells), energy(cells, 25_000)).row(0, named=True)
    assert (row["input_wait_from_share"], row["input_wait_to_share"]) == pytest.approx((0.1, 0.5))
    # 200 J of 1280 images, 320 J of 2560; each off by half of what was counted between two samples, at both edges
    assert row["image_energy_change"] == pytest.approx((320 / 2560) / (200 / 1280) - 1)
    assert row["image_energy_change_low"] == pytest.approx((240 / 2560) / (250 / 1280) - 1)
    assert row["image_energy_change_high"] == pytest.approx((400 / 2560) / (150 / 1280) - 1)


def test_time_begins_with_the_first_step_of_each_cell() -> None:
    points = over_time([cell(telemetry=BUSY), cell("cpu")]).filter(pl.col("part") == "GPU 0")
    # the sample half a second before the first step is left out
    assert points["seconds"].to_list() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert points["value"].to_list() == [0.0, 0.0, 40.0, 60.0, 50.0]
