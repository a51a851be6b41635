"""Python loops over pieces are found by their repeating operators; layers, large work and waits are not such loops."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import LOADER, US, Timeline

ID = "many-tiny-ops"


def training(
    repeats: int = 64,
    *,
    kernel: str = "vectorized_elementwise_kernel",
    kernel_us: float = 3,
    waiting: bool = False,
    label: str | None = None,
    model_us: float = 500,
) -> Timeline:
    """Steps that loop over samples with two operators each, 204 on the host, then run the model."""
    line = Timeline()

    def loop() -> None:
        for _ in range(repeats):
            for name in ("aten::sub", "aten::div"):
                with line.op(name, input_dims="[[3, 224, 224]]"):
                    line.python(200)
                    line.kernel(kernel_us, kernel)
                    if waiting:
                        line.synchronise()

    for _ in range(3):
        with line.step():
            if label:
                with line.label(label):
                    loop()
            else:
                loop()
            with line.op("aten::addmm"):
                line.kernel(model_us)
    return line


#: 128 operators of 204 and the model's launch
STEP_US = 128 * 204 + 4


def test_vectorised_two_iterations_remain() -> None:
    """2 of 64 iterations are 816 on the host; the model's 4 stay. 128 x 3 x 0.2 + 500 on the device is less."""
    finding = one(training().workspace(baseline_step_ms=STEP_US / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((STEP_US - 820) * US, rel=0.01)
    # cautious: 15 % of the loop stays, 3,917 and the model's launch
    assert finding.step_saving_low_ns == pytest.approx((STEP_US - 3_921) * 0.85 * US, rel=0.02)
    assert finding.step_saving_high_ns <= STEP_US * US
    assert finding.basis == "replayed"
    assert finding.message.startswith(
        "A loop of 64 iterations (aten::sub, aten::div) and others like it run 128 small operators a step"
    )


def test_it_says_where() -> None:
    line = training()
    assert one(line.workspace(), ID).location == "aten::sub [[3, 224, 224]]"
    line.frame("train.py(8): normalise", 0, line.now + 1)
    finding = one(line.workspace(), ID)
    assert finding.location == "train.py(8): normalise · aten::sub [[3, 224, 224]]"
    assert finding.evidence.select("repeats", "period", "launches").rows() == [(64, 2, 128)] * 3


def test_silent_about_a_few_iterations() -> None:
    assert findings(training(repeats=31).workspace(), ID) == ()


@pytest.mark.parametrize("kernel", ["void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>", "cudnn_convolve_sgemm"])
def test_silent_about_the_layers_of_a_model(kernel: str) -> None:
    assert findings(training(kernel=kernel).workspace(), ID) == ()


def test_silent_about_work_that_fills_the_device() -> None:
    assert findings(training(kernel_us=51).workspace(), ID) == ()


def test_silent_where_each_iteration_waits() -> None:
    """Then the wait is the finding."""
    assert findings(training(waiting=True).workspace(), ID) == ()


@pytest.mark.parametrize("label", ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"])
def test_silent_about_the_optimizer(label: str) -> None:
    assert findings(training(label=label).workspace(), ID) == ()


def test_found_inside_other_labels() -> None:
    assert len(findings(training(label="normalise").workspace(), ID)) == 1


def test_silent_where_the_device_hides_the_loop() -> None:
    assert findings(training(model_us=200_000).workspace(), ID) == ()


def on_host(op_us: float) -> Timeline:
    """Steps without a device: a loop of two operators, then one of 5,000."""
    line = Timeline(device=None)
    for _ in range(3):
        with line.step():
            for _ in range(64):
                for name in ("aten::sub", "aten::div"):
                    with line.op(name):
                        line.python(op_us)
            with line.op("aten::addmm"):
                line.python(5_000)
    return line


def test_without_a_device_small_is_what_takes_the_host_little_time() -> None:
    """128 x 30 are 3,840 of 8,840; two iterations, 120, remain."""
    finding = one(on_host(30).workspace(baseline_step_ms=8.84), ID)
    assert finding.step_saving_ns == pytest.approx((3_840 - 120) * US, rel=0.05)


def in_pieces(after: str = "aten::linear", *, join: str = "aten::stack", after_us: float = 400) -> Timeline:
    """3,840 in a loop over pieces; cutting takes 200, joining 300, freeing 400, then operators of 900 and 100."""
    line = Timeline(device=None)
    for _ in range(3):
        with line.step():
            line.python(1)
            with line.op("aten::unbind"):
                line.python(200)
            for _ in range(64):
                for name in ("aten::sub", "aten::div"):
                    with line.op(name):
                        line.python(30)
            with line.op(join):
                line.python(300)
            line.python(after_us)
            with line.op(after):
                line.python(900)
            with line.op("aten::linear"):
                line.python(100)
            line.python(1)
    return line


#: what in_pieces takes
PIECES_US = 1 + 200 + 3_840 + 300 + 400 + 900 + 100 + 1


def test_what_works_on_the_whole_cuts_joins_and_frees_nothing() -> None:
    """Two iterations, 120, and both operators remain; cautiously 15 % of the loop, the pieces and what they cost."""
    finding = one(in_pieces("aten::conv2d").workspace(baseline_step_ms=PIECES_US / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((PIECES_US - 1_122) * US, rel=0.02)
    assert finding.step_saving_low_ns == pytest.approx(3_840 * 0.85 * 0.85 * US, rel=0.06)


def test_an_operator_that_joins_nothing_stays() -> None:
    finding = one(in_pieces("aten::conv2d", join="aten::sort").workspace(baseline_step_ms=PIECES_US / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((PIECES_US - 1_122 - 700) * US, rel=0.02)


def test_python_after_the_join_that_cannot_be_freeing_stays() -> None:
    """Making 64 pieces takes 1,920, one operator each; 2,000 after the join are work of the step's own."""
    finding = one(in_pieces("aten::conv2d", after_us=2_000).workspace(baseline_step_ms=(PIECES_US + 1_600) / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((PIECES_US - 400 - 1_122) * US, rel=0.03)


def test_threads_may_have_slept_beside_the_loop() -> None:
    """The linear after it takes 800 longer than the other: possibly because of the loop. A convolution has no peer."""
    saved_us = PIECES_US - 1_122
    alone = one(in_pieces("aten::conv2d").workspace(baseline_step_ms=PIECES_US / 1e3), ID)
    slept = one(in_pieces().workspace(baseline_step_ms=PIECES_US / 1e3), ID)
    assert slept.step_saving_ns == alone.step_saving_ns
    assert alone.step_saving_high_ns == pytest.approx(1.15 * saved_us * US, rel=0.03)
    assert slept.step_saving_high_ns == pytest.approx(min(1.15 * (saved_us + 800), PIECES_US) * US, rel=0.03)


def test_silent_without_a_device_where_each_operator_works() -> None:
    assert findings(on_host(41).workspace(), ID) == ()


def test_silent_without_a_device_about_the_loader_s_own_loop() -> None:
    line = Timeline(device=None)
    for _ in range(3):
        with line.step():
            with line.label(LOADER.format("_SingleProcess")):
                for _ in range(64):
                    for name in ("aten::sub", "aten::div"):
                        with line.op(name):
                            line.python(30)
            with line.op("aten::addmm"):
                line.python(5_000)
    assert findings(line.workspace(), ID) == ()
