from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from collect.ranks import Placement  # noqa: E402 - after the check for torch
from collect.workloads import image_data  # noqa: E402
from collect.workloads.evaluation import evaluate, single_image_ns  # noqa: E402
from collect.workloads.images import generated_images  # noqa: E402
from collect.workloads.options import Options, UnusableOptionsError  # noqa: E402

ALONE = Placement()


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Twenty images of a user's own, in ten folders."""
    return generated_images(20, 24, tmp_path / "theirs")


def files(loader: object) -> set[str]:
    dataset = loader.dataset  # type: ignore[attr-defined]
    return {dataset.dataset.samples[index][0] for index in dataset.indices}


def options(**given: object) -> Options:
    return Options(**{"device": "cpu", "batch_size": 4, "image_size": 16, "workers": 0, "held_out": 256, **given})


def test_what_is_held_out_is_never_trained_on_and_is_the_same_in_every_run(theirs: Path) -> None:
    mine = options(data=str(theirs))
    trained, held = files(image_data.training_loader(mine, ALONE)), files(image_data.held_out_loader(mine, ALONE))
    # of so few images no more than a fifth
    assert (len(trained), len(held), trained & held) == (16, 4, set())
    assert held == files(image_data.held_out_loader(mine, ALONE))


def test_generated_images_are_held_out_in_a_folder_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEPSCOPE_CACHE_DIR", str(tmp_path))
    image_data.make_images(options(images=20, held_out=10))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["images-10x18-seed2024", "images-20x18"]
    trained, held = (tmp_path / name / "class_0" / "000000.jpg" for name in ("images-20x18", "images-10x18-seed2024"))
    assert trained.read_bytes() != held.read_bytes()


@pytest.mark.parametrize("data", ["nowhere", "few"])
def test_images_that_cannot_be_used_are_refused(tmp_path: Path, data: str) -> None:
    if data == "few":
        generated_images(2, 16, tmp_path)
    folder = tmp_path / "images-2x16" if data == "few" else tmp_path / data
    with pytest.raises(UnusableOptionsError, match="--data"):
        image_data.make_images(options(data=str(folder)))


class FirstClass(torch.nn.Module):
    """Says class 0 of two, whatever it is shown."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        assert not self.training
        return torch.tensor([[1.0, 0.0]]).repeat(len(images), 1)


def test_accuracy_counts_images_and_not_batches() -> None:
    batches = [(torch.zeros(3, 1), torch.tensor([0, 0, 1])), (torch.zeros(1, 1), torch.tensor([0]))]
    seen = evaluate(FirstClass(), batches, torch.device("cpu"), "fp32")
    assert (seen["held_out_images"], seen["held_out_correct"]) == (4, 3)
    # -log(e / (e + 1)) for three, 1 more for the other
    assert seen["held_out_loss"] == pytest.approx(0.3133 + 0.25, abs=1e-3)


def test_single_images_are_timed_one_by_one() -> None:
    taken = single_image_ns(FirstClass(), torch.zeros(1), torch.device("cpu"), "fp32")
    assert len(taken) == 50
    assert min(taken) > 0
