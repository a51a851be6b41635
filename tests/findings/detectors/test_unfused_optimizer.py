"""Optimizers that update one parameter at a time are found; fused, multi-tensor and small ones are not."""

from __future__ import annotations

import pytest

from tests.findings.recorded import findings, one
from tests.timeline import US, Timeline

ID = "unfused-optimizer"
CALL = "Optimizer.step#AdamW.step"


def training(
    parameters: int = 25,
    *,
    kernel: str = "vectorized_elementwise_kernel",
    label: str | None = CALL,
    model_us: float = 100,
    inside: bool = True,
) -> Timeline:
    """Steps of a model's kernel and an update of two operators a parameter, 504 on the host and 10 on the device each."""
    line = Timeline()

    def update() -> None:
        for _ in range(parameters):
            for name in ("aten::mul_", "aten::addcmul_"):
                with line.op(name):
                    line.python(500)
                    line.kernel(10, kernel)

    def call() -> None:
        if label is None:
            update()
        else:
            with line.label(label):
                update()

    for _ in range(4):
        with line.step():
            line.kernel(model_us)
            if inside:
                call()
        if not inside:
            call()
    return line


#: 4 for the model, 50 operators of 504
STEP_US = 4 + 50 * 504


def test_fused_the_host_only_gathers_parameters() -> None:
    """25 parameters at 6 each and 4 for the model: 154. The device: 100 + 0.35 x 500 = 275 sets the pace then."""
    finding = one(training().workspace(baseline_step_ms=STEP_US / 1e3), ID)
    assert finding.step_saving_ns == pytest.approx((STEP_US - 275) * US, rel=0.01)
    # cautious: 15 a parameter, 379 on the host
    assert finding.step_saving_low_ns == pytest.approx((STEP_US - 379) * 0.85 * US, rel=0.02)
    assert finding.basis == "replayed"
    assert finding.message.startswith(f"{CALL} launches 50 kernels for about 25 parameters")


def test_it_says_where() -> None:
    finding = one(training().workspace(), ID)
    assert finding.location == CALL
    assert finding.evidence.select("step", "name").rows() == [(step, CALL) for step in range(4)]


@pytest.mark.parametrize("kernel", ["multi_tensor_apply_kernel<FusedAdam>", "void at::native::FusedSgdMathFunctor"])
def test_silent_where_it_is_fused_already(kernel: str) -> None:
    assert findings(training(kernel=kernel).workspace(), ID) == ()


def test_silent_about_few_parameters() -> None:
    assert findings(training(parameters=19).workspace(), ID) == ()


def test_silent_where_the_device_hides_the_launches() -> None:
    assert findings(training(model_us=100_000).workspace(), ID) == ()


def test_silent_about_other_labels() -> None:
    assert findings(training(label="Optimizer.zero_grad#AdamW.zero_grad").workspace(), ID) == ()
    assert findings(training(label="my update").workspace(), ID) == ()


def test_silent_outside_steps() -> None:
    assert findings(training(inside=False).workspace(), ID) == ()
