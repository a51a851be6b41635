"""Each rule on a study made up for it, and on one where the answer is the opposite."""

# ruff: noqa: RUF001 - dashes, minus and multiplication signs are meant
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from analyze.study.rules.answer_time import answer_time
from analyze.study.rules.costly_operators import costly_operators
from analyze.study.rules.energy_use import energy_use
from analyze.study.rules.faster_device import faster_device
from analyze.study.rules.idle_gpu import idle_gpu
from analyze.study.rules.in_use import in_use
from analyze.study.rules.larger_batch import larger_batch
from analyze.study.rules.memory_use import memory_use
from analyze.study.rules.same_results import same_results
from analyze.study.rules.waiting import waiting
from analyze.study.rules.whole_training import whole_training
from tests.study.made_up import GIB, tables

if TYPE_CHECKING:
    from collections.abc import Callable

TRAIN_GPU = {"cell": "train-cuda-64", "mode": "train", "device": "cuda", "batch_size": 64}
TRAIN_CPU = {**TRAIN_GPU, "cell": "train-cpu-64", "device": "cpu"}


def said(rule: Callable[..., Any], **frames: list[dict[str, Any]]) -> list[str]:
    return [statement.text for statement in rule(tables(**frames))]


def speed(
    factor: float, low: float | None, high: float | None, mode: str = "train", **more: float | None
) -> list[dict[str, Any]]:
    named = {"mode": mode, "batch_size": 64, "base": "cpu", "device": "cuda", "input_wait_share": None, "work_speed_up": None}
    return [{**named, "speed_up": factor, "speed_up_low": low, "speed_up_high": high, **more}]


@pytest.mark.parametrize(
    ("factor", "low", "high", "text"),
    [
        (23.4, 22.0, 24.6, "For training at batch 64 the GPU is 23× faster than the CPU (22–25)."),
        (0.5, 0.4, 0.625, "For training at batch 64 the CPU is 2.0× faster than the GPU (1.6–2.5)."),
        (1.1, 0.9, 1.3, "Training at batch 64: no difference between GPU and CPU can be told (0.90–1.30×)."),
        (3.0, None, None, "Training at batch 64: 3.0× as fast on the GPU as on the CPU, from too few steps to say how sure."),
    ],
)
def test_faster_device(factor: float, low: float | None, high: float | None, text: str) -> None:
    assert said(faster_device, speed_up=speed(factor, low, high)) == [text]


def test_faster_device_in_inference_answers_another_question() -> None:
    (one,) = faster_device(tables(speed_up=speed(4.0, 3.0, 5.0, "infer")))
    assert (one.question, one.text) == (5, "For inference at batch 64 the GPU is 4.0× faster than the CPU (3.0–5.0).")


def test_a_gpu_that_waits_for_input_is_not_said_to_be_as_slow_as_its_loading() -> None:
    (text,) = said(faster_device, speed_up=speed(8.6, 7.8, 9.6, input_wait_share=0.742, work_speed_up=33.4))
    assert text.endswith("The GPU waits for input 74 % of the time; less such waits its steps are 33× as fast as the CPU's.")
    (text,) = said(faster_device, speed_up=speed(8.6, 7.8, 9.6, input_wait_share=0.05, work_speed_up=9.0))
    assert text.endswith("(7.8–9.6).")


def test_nothing_is_said_of_a_speed_up_where_one_device_ran() -> None:
    assert said(faster_device) == []


def parts(cell: dict[str, Any], steps: int | None = None, **shares: float) -> list[dict[str, Any]]:
    return [{**cell, "part": part, "share": share, "profiled_steps": steps} for part, share in shares.items()]


@pytest.mark.parametrize(
    ("cell", "shares", "text"),
    [
        (
            TRAIN_GPU,
            {"idle_input_wait": 0.6, "compute": 0.3, "idle_launch": 0.08, "exposed_copy": 0.02},
            (
                "At batch 64 the GPU computes for 30 % of the training step; for 60 % it waits for input, "
                "for 8 % it waits for launches."
            ),
        ),
        (
            TRAIN_GPU,
            {"compute": 0.97, "idle_input_wait": 0.03},
            "At batch 64 the GPU computes for 97 % of the training step: feeding it faster would gain little.",
        ),
        (
            TRAIN_GPU,
            {"compute": 0.7, "exposed_copy": 0.3},
            "At batch 64 the GPU computes for 70 % of the training step; for 30 % it copies with nothing to hide behind.",
        ),
        (
            TRAIN_GPU,
            {"idle_input_wait": 1.0},
            "At batch 64 the GPU computes for 0 % of the training step; for 100 % it waits for input.",
        ),
        (
            TRAIN_GPU,
            {"compute": 0.2, "idle_launch": 0.4, "unexplained": 0.2, "idle_other": 0.2},
            (
                "At batch 64 the GPU computes for 20 % of the training step; for 40 % it waits for launches, "
                "for 40 % the cause is not known."
            ),
        ),
        (
            TRAIN_CPU,
            {"forward": 0.6, "input_wait": 0.4},
            "At batch 64 the CPU spends 40 % of the training step waiting for input.",
        ),
        (
            TRAIN_CPU,
            {"backward": 0.6, "forward": 0.39, "input_wait": 0.01},
            "At batch 64 the CPU hardly waits: of its training step 60 % is backward, 39 % is forward.",
        ),
    ],
)
def test_waiting(cell: dict[str, Any], shares: dict[str, float], text: str) -> None:
    assert said(waiting, throughput=[{**cell, "input_wait_share": None}], causes=parts(cell, **shares)) == [text]


@pytest.mark.parametrize(
    ("measured", "ending"),
    [
        (0.67, "(3 profiled steps; of all 129 measured steps' time 67 % is waiting for input)."),
        (0.11, "(3 profiled steps; of all 129 measured steps' time 11 % is waiting for input)."),
        (0.49, "(3 profiled steps)."),
        (None, "(3 profiled steps)."),
    ],
)
def test_three_profiled_steps_are_held_against_all_measured_ones(measured: float | None, ending: str) -> None:
    cell = {**TRAIN_GPU, "steps": 129, "input_wait_share": measured}
    (text,) = said(waiting, throughput=[cell], causes=parts(cell, 3, idle_input_wait=0.5, compute=0.5))
    assert text == f"At batch 64 the GPU computes for 50 % of the training step; for 50 % it waits for input {ending}"


def used(device: str, batch: int, part: str, mean: float) -> dict[str, Any]:
    cell = {"cell": f"train-{device}-{batch}", "mode": "train", "device": device, "batch_size": batch}
    return {**cell, "part": part, "mean_percent": mean, "p10_percent": mean - 5, "p90_percent": mean + 5}


def test_in_use_names_the_busiest_gpu_and_the_host_by_batch_size() -> None:
    gpu = [
        used("cuda", 64, "GPU 0", 40),
        used("cuda", 64, "GPU 1", 20),
        used("cuda", 64, "CPU", 30),
        used("cuda", 128, "GPU 0", 60),
    ]
    assert said(in_use, utilisation=[*gpu, used("cpu", 64, "GPU 0", 10), used("cpu", 64, "CPU", 95)]) == [
        (
            "While training on the GPU, GPU 0 is busy 40 % of the time at batch 64 (35–45 % in eight of ten samples), "
            "60 % of the time at batch 128 (55–65 %); the CPU, all cores together, 30 % of the time at batch 64 (25–35 %)."
        ),
        (
            "While training on the CPU, the CPU, all cores together, is busy 95 % of the time at batch 64 "
            "(90–100 % in eight of ten samples)."
        ),
    ]


def test_what_was_not_sampled_is_not_said_to_be_idle() -> None:
    assert said(in_use, utilisation=[]) == []
    assert said(in_use, utilisation=[used("cpu", 64, "GPU 0", 5)]) == []


def test_a_cell_without_a_trace_says_nothing_of_what_it_waits_for() -> None:
    assert said(waiting, throughput=[TRAIN_GPU], causes=[]) == []


def effect(change: float, low: float | None, high: float | None, **more: float | None) -> list[dict[str, Any]]:
    energy = [f"image_energy_change{end}" for end in ("", "_low", "_high")]
    before = ("utilisation_from_percent", "utilisation_to_percent", "input_wait_from_share", "input_wait_to_share")
    unknown = dict.fromkeys((*before, "device_memory_change", *energy))
    named = {"mode": "train", "device": "cuda", "from_batch": 64, "to_batch": 128}
    ends = {"throughput_change": change, "throughput_change_low": low, "throughput_change_high": high}
    return [{**named, **ends, **unknown, **more}]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (effect(0.3, 0.2, 0.4), "gives 30 % more images a second (+20 % to +40 %)."),
        (effect(-0.3, -0.4, -0.2), "costs 30 % of the images a second (−40 % to −20 %)."),
        (effect(0.02, -0.1, 0.1), "gives nothing that can be told from noise (−10 % to +10 % images a second)."),
        (effect(1.5, 1.4, 1.6), "gives 2.5× the images a second (2.4–2.6×)."),
        (effect(0.3, None, None), "changes images a second by +30 %, from too few steps to say how sure."),
        (
            effect(0.3, 0.2, 0.4, utilisation_from_percent=50.0, utilisation_to_percent=70.0, device_memory_change=0.9,
                   image_energy_change=-0.25, image_energy_change_low=-0.3, image_energy_change_high=-0.2),
            ("gives 30 % more images a second (+20 % to +40 %), utilisation 50 % to 70 %, its memory +90 %, "
             "energy an image −25 % (−30 % to −20 %)."),
        ),
        (
            effect(0.3, 0.2, 0.4, image_energy_change=0.03, image_energy_change_low=-0.1, image_energy_change_high=0.16),
            "gives 30 % more images a second (+20 % to +40 %), energy an image the same within its error (−10 % to +16 %).",
        ),
        (
            effect(0.02, -0.1, 0.1, input_wait_from_share=0.2, input_wait_to_share=0.67),
            ("gives nothing that can be told from noise (−10 % to +10 % images a second), "
             "since it then waits for input 67 % of the time (20 % before)."),
        ),
        (
            effect(0.02, -0.1, 0.1, input_wait_from_share=0.67, input_wait_to_share=0.2),
            "gives nothing that can be told from noise (−10 % to +10 % images a second).",
        ),
        (effect(0.3, 0.2, 0.4, device_memory_change=0.01), "gives 30 % more images a second (+20 % to +40 %), its memory unchanged."),
    ],
)  # fmt: skip
def test_larger_batch(row: list[dict[str, Any]], text: str) -> None:
    assert said(larger_batch, batch_effect=row) == [f"Raising the batch from 64 to 128 in training on the GPU {text}"]


def memory_of(batch: int, host_gib: float | None, device_gib: float | None) -> dict[str, Any]:
    sizes = {"host_used_bytes": host_gib, "device_allocated_bytes": device_gib}
    unknown = dict.fromkeys(("device_total_bytes", "device_used_bytes", "host_total_bytes"))
    return {
        **TRAIN_GPU,
        "batch_size": batch,
        **unknown,
        **{name: None if size is None else int(size * GIB) for name, size in sizes.items()},
    }


@pytest.mark.parametrize(("last", "verb"), [(32.5, "stays about the same"), (40.0, "grows"), (20.0, "shrinks")])
def test_memory_use(last: float, verb: str) -> None:
    texts = said(memory_use, memory=[memory_of(64, 32.0, 3.4), memory_of(128, last, 5.0)])
    assert texts == [
        "Tensors of training take 3.4 GiB at batch 64, 5.0 GiB at batch 128 of the GPU's memory.",
        (
            f"Memory in use on the host {verb} with the batch when training on the GPU "
            f"(32 GiB at batch 64, {round(last)} GiB at 128)."
        ),
    ]


def test_memory_is_said_to_be_a_part_of_what_there_is() -> None:
    there = {"device_total_bytes": 140 * GIB, "device_used_bytes": 6 * GIB, "host_total_bytes": 512 * GIB}
    assert said(memory_use, memory=[{**memory_of(size, 32.0, 3.4), **there} for size in (64, 128)]) == [
        (
            "Tensors of training take 3.4 GiB at batch 64, 3.4 GiB at batch 128 of the GPU's 140 GiB; "
            "with all else on the card it is 6.0 GiB, 6.0 GiB."
        ),
        (
            "Memory in use on the host stays about the same with the batch when training on the GPU "
            "(32 GiB at batch 64, 32 GiB at 128, of 512 GiB)."
        ),
    ]


def test_memory_that_was_not_sampled_is_not_spoken_of() -> None:
    assert said(memory_use, memory=[memory_of(64, None, None), memory_of(128, None, None)]) == []


def spent(**known: float | None) -> list[dict[str, Any]]:
    ends = ("image_j", "image_low_j", "image_high_j", "epoch_wh", "epoch_low_wh", "epoch_high_wh")
    names = ("mean_w", "limit_w", *ends, "idle_share", "highest_c")
    return [{**TRAIN_GPU, "part": "GPU 0", **dict.fromkeys(names), **known}]


def test_energy_use_with_everything_known() -> None:
    known = {"mean_w": 152.0, "image_j": 0.5, "image_low_j": 0.0608, "image_high_j": 0.6, "epoch_wh": 3.47}
    known |= {"epoch_low_wh": 2.78, "epoch_high_wh": 4.17}
    spread = "0.500 J an image (0.0608–0.600), 3.47 Wh an epoch (2.78–4.17, extrapolated)"
    assert said(energy_use, energy=spent(**known)) == [f"At batch 64 GPU 0 draws 152 W in training: {spread}."]
    assert said(energy_use, energy=spent(**known, limit_w=300.0, idle_share=0.5, highest_c=69.0)) == [
        (f"At batch 64 GPU 0 draws 152 of 300 W in training: {spread}; 50 % of it the card would draw idle too; at most 69 °C.")
    ]


def test_energy_that_is_not_known_is_not_zero() -> None:
    assert said(energy_use, energy=spent(highest_c=69.0)) == ["Training at batch 64 heats GPU 0 to 69 °C."]
    assert said(energy_use, energy=spent()) == []


def test_the_energy_of_a_gpu_is_not_said_to_be_that_of_training_on_the_cpu() -> None:
    rows = [{**row, "device": "cpu"} for row in spent(image_j=1.0, mean_w=1.0, epoch_wh=1.0)]
    assert said(energy_use, energy=rows) == []


def test_whole_training_says_that_it_is_extrapolated_and_from_what() -> None:
    row = {**TRAIN_CPU, "epochs": 20, "images_per_epoch": 25_000, "stretch_s": 12.0, "stretch_images": 640}
    assert said(whole_training, training_time=[{**row, "hours": 13.2, "hours_low": 12.9, "hours_high": 13.5}]) == [
        (
            "20 epochs of 25,000 images would take 13.2 h (12.9 h to 13.5 h) on the CPU at batch 64, "
            "extrapolated from 640 images in 12.0 s, steps alone."
        )
    ]
    (text,) = said(whole_training, training_time=[{**row, "hours": 0.5, "hours_low": None, "hours_high": None}])
    assert "would take 30 min (spread not known)" in text


def answers(batches: int, single: float | None, singles: int = 100, waited: float | None = None) -> list[dict[str, Any]]:
    row = {"device": "cuda", "batch_size": 64, "batches": batches, "batch_p50_ms": 12.0, "batch_p99_ms": 20.0}
    row |= {"images_per_s": 4000.0, "input_wait_share": waited, "single_images": singles}
    return [{**row, "single_image_p50_ms": single, "single_image_p99_ms": single}]


def test_answer_time() -> None:
    assert said(answer_time, inference=answers(200, 3.0)) == [
        (
            "A batch of 64 is classified on the GPU in 12.0 ms (p99 20.0 ms), 4,000 images a second with loading; "
            "a single image in 3.00 ms (p99 3.00 ms)."
        )
    ]
    assert said(answer_time, inference=answers(50, None)) == [
        "A batch of 64 is classified on the GPU in 12.0 ms (p99 20.0 ms, of only 50), 4,000 images a second with loading."
    ]


def test_answers_are_few_and_loading_slow_where_they_are() -> None:
    assert said(answer_time, inference=answers(200, 3.0, 50, 0.74)) == [
        (
            "A batch of 64 is classified on the GPU in 12.0 ms (p99 20.0 ms), 4,000 images a second with loading, "
            "for which it waits 74 % of the time; a single image in 3.00 ms (p99 3.00 ms, of only 50)."
        )
    ]
    assert "waits" not in said(answer_time, inference=answers(200, None, waited=0.01))[0]


def agreeing(first: float | None, drift: float | None, accuracy: float | None) -> list[dict[str, Any]]:
    row = {"batch_size": 64, "base": "cpu", "device": "cuda", "steps": 32, "steps_compared": 0 if first is None else 32}
    noise = None if accuracy is None else 0.05
    return [
        {
            **row,
            "first_loss_difference": first,
            "loss_difference": drift,
            "accuracy_difference": accuracy,
            "accuracy_noise": noise,
        }
    ]


@pytest.mark.parametrize(
    ("first", "drift", "accuracy", "ending"),
    [
        (0.0, 0.01, 0.02, (" start from the same loss, and it differs by 1 % over 32 steps, as rounding may bring about; "
                          "accuracy is 2.0 points higher on the GPU, no more than chance with so few held-out images (±5.0).")),
        (0.0, 0.4, -0.2, (" start from the same loss, and it differs by 40 % over 32 steps, "
                         "more than rounding usually brings about; "
                         "accuracy is 20.0 points lower on the GPU, more than chance with so few held-out images (±5.0). "
                         "How far two runs on one device differ was not measured.")),
        (0.3, 0.4, None, " did not start from the same: their first losses differ by 30 %."),
        (None, None, None, " cannot be compared: no step has a loss on both."),
        (0.0, 0.01, None, (" start from the same loss, and it differs by 1 % over 32 steps, as rounding may bring about; "
                          "their accuracy is not known.")),
    ],
)  # fmt: skip
def test_same_results(first: float | None, drift: float | None, accuracy: float | None, ending: str) -> None:
    assert said(same_results, agreement=agreeing(first, drift, accuracy)) == [f"At batch 64 CPU and GPU{ending}"]


def test_losses_are_compared_where_both_were_logged() -> None:
    (row,) = agreeing(0.0, 0.08, None)
    (text,) = said(same_results, agreement=[{**row, "steps_compared": 14}])
    assert "it differs by 8 % over the 14 of 32 steps whose loss both logged, as rounding" in text


def cards(first: tuple[float, float | None], second: tuple[float, float | None]) -> list[dict[str, Any]]:
    most = max(first[0], second[0])
    return [
        {
            **TRAIN_GPU,
            "part": f"GPU {index}",
            "mean_percent": busy,
            "mean_w": watts,
            "share_of_busiest": busy / most if most else None,
        }
        for index, (busy, watts) in enumerate((first, second))
    ]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ((48.0, 152.0), (0.0, 23.0), ("leaves GPU 1 idle: GPU 0 48 % and 152 W, GPU 1 0 % and 23 W. "
                                     "One process uses one GPU; torchrun starts one for each.")),
        ((80.0, 150.0), (78.0, None), "spreads the work evenly: GPU 0 80 % and 150 W, GPU 1 78 %."),
        ((80.0, 150.0), (40.0, 90.0), ("spreads the work unevenly, the least busy GPU at 50 % of the busiest: "
                                      "GPU 0 80 % and 150 W, GPU 1 40 % and 90 W.")),
    ],
)  # fmt: skip
def test_idle_gpu(first: tuple[float, float | None], second: tuple[float, float | None], text: str) -> None:
    assert said(idle_gpu, gpu_work=cards(first, second)) == [f"Training at batch 64 {text}"]


def test_one_gpu_has_nobody_to_share_with() -> None:
    assert said(idle_gpu, gpu_work=cards((48.0, 152.0), (0.0, 23.0))[:1]) == []


def operators(copy_share: float) -> list[dict[str, Any]]:
    rows = [("aten::convolution_backward", 1, 0.5), ("aten::mkldnn", 2, 0.3), ("copy to the GPU", None, copy_share)]
    return [
        {**TRAIN_GPU, "operator": name, "place": place, "ms": 10 * share, "share": share, "step_share": share / 2}
        for name, place, share in rows
    ]


@pytest.mark.parametrize(("share", "ending"), [(0.2, "worth hiding behind other work."), (0.01, "not what costs time.")])
def test_costly_operators(share: float, ending: str) -> None:
    first, copy = said(costly_operators, operators=operators(share))
    assert first == "Of the time that training computes on the GPU at batch 64, 50 % is convolution_backward, 30 % is mkldnn."
    assert copy.endswith(ending)
    assert f"{10 * share:.2f} ms a step" in copy


def test_a_copy_that_is_much_of_a_little_computing_is_still_little_of_the_step() -> None:
    rows = [{**row, "step_share": 0.01} for row in operators(0.5)]
    assert said(costly_operators, operators=rows)[1].endswith("5.00 ms a step at batch 64, 1 % of it: not what costs time.")


def test_on_the_cpu_there_is_no_copy_to_speak_of() -> None:
    rows = [row for row in operators(0.2) if row["place"] is not None]
    assert len(said(costly_operators, operators=rows)) == 1
