from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

np = pytest.importorskip("numpy")
images = pytest.importorskip("collect.workloads.images")
Image = pytest.importorskip("PIL.Image")


def test_images_are_made_once_and_used_again(tmp_path: Path):
    folder = images.generated_images(20, 24, tmp_path)
    files = sorted(folder.glob("*/*.jpg"))
    assert len(files) == 20
    assert len(list(folder.iterdir())) == 10
    with Image.open(files[0]) as image:
        assert (image.format, image.size, image.mode) == ("JPEG", (24, 24), "RGB")
    made_ns = files[0].stat().st_mtime_ns
    assert images.generated_images(20, 24, tmp_path) == folder
    assert files[0].stat().st_mtime_ns == made_ns
    assert [path.name for path in tmp_path.iterdir()] == ["images-20x24"]


def test_two_sets_are_alike_byte_for_byte(tmp_path: Path):
    one, other = (images.generated_images(10, 16, tmp_path / name) for name in ("a", "b"))
    for path in one.glob("*/*.jpg"):
        assert path.read_bytes() == (other / path.relative_to(one)).read_bytes()


def test_classes_can_be_told_apart():
    random = np.random.default_rng(0)
    means = {label: np.mean([images.draw(label, 32, random) for _ in range(8)], axis=(0, 1, 2)) for label in range(10)}
    nearest = min(np.abs(means[a] - means[b]).max() for a in means for b in means if a < b)
    assert nearest > 2


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(OSError, match="STEPSCOPE_CACHE_DIR"):
        images.generated_images(10, 16, blocked)
