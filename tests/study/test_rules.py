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


def speed(factor: float, low: float | None, high: float | None, mode: str = "train") -> list[dict[str, Any]]:
    named = {"mode": mode, "batch_size": 64, "base": "cpu", "device": "cuda"}
    return [{**named, "speed_up": factor, "speed_up_low": low, "speed_up_high": high}]


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


def test_nothing_is_said_of_a_speed_up_where_one_device_ran() -> None:
    assert said(faster_device) == []


def parts(cell: dict[str, Any], **shares: float) -> list[dict[str, Any]]:
    return [{**cell, "part": part, "share": share} for part, share in shares.items()]


@pytest.mark.parametrize(
    ("cell", "shares", "text"),
    [
        (
            TRAIN_GPU,
            {"idle_input_wait": 0.6, "compute": 0.3, "idle_launch": 0.08, "exposed_copy": 0.02},
            (
                "At batch 64 the GPU computes for 30 % of the training step; the rest is 60 % waiting for input, "
                "8 % waiting for launches."
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
            "At batch 64 the GPU computes for 70 % of the training step; the rest is 30 % in copies that nothing hides.",
        ),
        (
            TRAIN_GPU,
            {"idle_input_wait": 1.0},
            "At batch 64 the GPU computes for 0 % of the training step; the rest is 100 % waiting for input.",
        ),
        (
            TRAIN_CPU,
            {"forward": 0.6, "input_wait": 0.4},
            "At batch 64 the CPU spends 40 % of the training step waiting for input.",
        ),
        (
            TRAIN_CPU,
            {"backward": 0.6, "forward": 0.39, "input_wait": 0.01},
            "At batch 64 the CPU spends its training step computing, most of it (60 %) in backward.",
        ),
    ],
)
def test_waiting(cell: dict[str, Any], shares: dict[str, float], text: str) -> None:
    assert said(waiting, throughput=[cell], causes=parts(cell, **shares)) == [text]


def test_a_cell_without_a_trace_says_nothing_of_what_it_waits_for() -> None:
    assert said(waiting, throughput=[TRAIN_GPU], causes=[]) == []


def effect(change: float, low: float | None, high: float | None, **more: float | None) -> list[dict[str, Any]]:
    unknown = dict.fromkeys(("utilisation_from_percent", "utilisation_to_percent", "device_memory_change", "image_energy_change"))
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
                   image_energy_change=-0.25),
            "gives 30 % more images a second (+20 % to +40 %), utilisation 50 % to 70 %, its memory +90 %, energy an image −25 %.",
        ),
        (effect(0.3, 0.2, 0.4, device_memory_change=0.01), "gives 30 % more images a second (+20 % to +40 %), its memory unchanged."),
    ],
)  # fmt: skip
def test_larger_batch(row: list[dict[str, Any]], text: str) -> None:
    assert said(larger_batch, batch_effect=row) == [f"Raising the batch from 64 to 128 in training on the GPU {text}"]


def memory_of(batch: int, host_gib: float | None, device_gib: float | None) -> dict[str, Any]:
    sizes = {"host_used_bytes": host_gib, "device_allocated_bytes": device_gib}
    return {**TRAIN_GPU, "batch_size": batch, **{name: None if size is None else int(size * GIB) for name, size in sizes.items()}}


@pytest.mark.parametrize(
    ("last", "verb"), [(32.5, "stays the same"), (40.0, "does not stay the same"), (20.0, "does not stay the same")]
)
def test_memory_use(last: float, verb: str) -> None:
    texts = said(memory_use, memory=[memory_of(64, 32.0, 3.4), memory_of(128, last, 5.0)])
    assert texts[0] == "Training needs 3.4 GiB at batch 64, 5.0 GiB at batch 128 of the GPU's memory."
    assert (
        texts[1] == f"Memory in use on the host {verb} when training on the GPU (32 GiB at batch 64, {round(last)} GiB at 128)."
    )


def test_memory_that_was_not_sampled_is_not_spoken_of() -> None:
    assert said(memory_use, memory=[memory_of(64, None, None), memory_of(128, None, None)]) == []


def spent(**known: float | None) -> list[dict[str, Any]]:
    names = ("mean_w", "image_j", "image_low_j", "image_high_j", "epoch_wh", "idle_share", "highest_c")
    return [{**TRAIN_GPU, "part": "GPU 0", **dict.fromkeys(names), **known}]


def test_energy_use_with_everything_known() -> None:
    known = {"mean_w": 152.0, "image_j": 0.5, "image_low_j": 0.4, "image_high_j": 0.6, "epoch_wh": 3.47, "idle_share": 0.5}
    assert said(energy_use, energy=spent(**known, highest_c=69.0)) == [
        (
            "At batch 64 GPU 0 draws 152 W in training: 0.500 J an image (0.4–0.6), 3.47 Wh an epoch (extrapolated); "
            "50 % of it the idle card would draw too; at most 69 °C."
        )
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
            "extrapolated from 640 images in 12.0 s."
        )
    ]
    (text,) = said(whole_training, training_time=[{**row, "hours": 0.5, "hours_low": None, "hours_high": None}])
    assert "would take 30 min (spread not known)" in text


def answers(batches: int, single: float | None) -> list[dict[str, Any]]:
    row = {"device": "cuda", "batch_size": 64, "batches": batches, "batch_p50_ms": 12.0, "batch_p99_ms": 20.0}
    return [{**row, "images_per_s": 4000.0, "single_image_p50_ms": single, "single_image_p99_ms": single}]


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


def agreeing(first: float | None, drift: float | None, accuracy: float | None) -> list[dict[str, Any]]:
    row = {"batch_size": 64, "base": "cpu", "device": "cuda", "steps_compared": 0 if first is None else 32}
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
        (0.0, 0.01, 0.02, (" start from the same loss and differ by 1 % over 32 steps: rounding; "
                          "their accuracy is the same within noise (+2.0 points, noise ±5.0).")),
        (0.0, 0.4, -0.2, (" start from the same loss and differ by 40 % over 32 steps: more than rounding usually brings about; "
                         "their accuracy is not the same (−20.0 points, noise ±5.0).")),
        (0.3, 0.4, None, " did not start from the same: their first losses differ by 30 %."),
        (None, None, None, " cannot be compared: no step has a loss on both."),
        (0.0, 0.01, None, " start from the same loss and differ by 1 % over 32 steps: rounding; their accuracy is not known."),
    ],
)  # fmt: skip
def test_same_results(first: float | None, drift: float | None, accuracy: float | None, ending: str) -> None:
    assert said(same_results, agreement=agreeing(first, drift, accuracy)) == [f"At batch 64 CPU and GPU{ending}"]


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
    return [{**TRAIN_GPU, "operator": name, "place": place, "ms": 10 * share, "share": share} for name, place, share in rows]


@pytest.mark.parametrize(("share", "ending"), [(0.2, "worth hiding behind other work."), (0.01, "not what costs time.")])
def test_costly_operators(share: float, ending: str) -> None:
    first, copy = said(costly_operators, operators=operators(share))
    assert first == "On the GPU at batch 64 training spends most of its time in convolution_backward (50 %), mkldnn (30 %)."
    assert copy.endswith(ending)
    assert f"{10 * share:.2f} ms a step" in copy


def test_on_the_cpu_there_is_no_copy_to_speak_of() -> None:
    rows = [row for row in operators(0.2) if row["place"] is not None]
    assert len(said(costly_operators, operators=rows)) == 1
