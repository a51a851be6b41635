"""Images to train on where the user has none: JPEG files that show their class, made once and kept.

Each class has a stripe direction, a stripe width and a tint; noise, phase and brightness differ from image to image. A
small network can learn to tell them apart, and decoding them costs what decoding photographs of that size costs.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from platformdirs import user_cache_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

CLASSES = 10
_QUALITY = 90
_NOISE = 24.0
SEED = 2023


def generated_images(count: int, size: int, cache: Path | None = None, seed: int = SEED) -> Path:
    """Return a folder in ImageFolder layout with `count` images of `size` pixels; existing ones are used again.

    Another seed draws other images of the same classes.
    Kept in STEPSCOPE_CACHE_DIR or the platform's cache folder; where neither can be written, in a temporary folder.
    """
    for parent in [cache] if cache is not None else _caches():
        folder = parent / (f"images-{count}x{size}" if seed == SEED else f"images-{count}x{size}-seed{seed}")
        try:
            if not folder.is_dir():
                _generate(folder, count, size, seed)
        except OSError:
            continue
        return folder
    raise OSError("no folder for generated images can be written: set STEPSCOPE_CACHE_DIR")


def _caches() -> list[Path]:
    named = os.environ.get("STEPSCOPE_CACHE_DIR")
    if named:
        return [Path(named)]
    return [user_cache_path("stepscope"), Path(tempfile.gettempdir()) / "stepscope"]


def _generate(folder: Path, count: int, size: int, seed: int) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        random = np.random.default_rng(seed)
        for number in range(count):
            label = number % CLASSES
            target = partial / f"class_{label}"
            target.mkdir(exist_ok=True)
            Image.fromarray(draw(label, size, random)).save(target / f"{number:06d}.jpg", quality=_QUALITY)
        partial.replace(folder)
    except OSError:
        # another process may have been quicker; its images are the same
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def draw(label: int, size: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """Return one image of a class: height, width, 3 channels of 8 bits."""
    angle = np.pi * label / CLASSES
    rows, columns = np.mgrid[0:size, 0:size] / size
    cycles = 4 + 3 * (label % 3)
    phase = random.uniform(0, 2 * np.pi)
    stripes = np.sin(2 * np.pi * cycles * (columns * np.cos(angle) + rows * np.sin(angle)) + phase)
    tint = 0.5 + 0.5 * np.cos(2 * np.pi * (label / CLASSES + np.array([0.0, 1 / 3, 2 / 3])))
    picture = 110 + random.uniform(-20, 20) + 60 * stripes[..., None] * (0.4 + 0.6 * tint) + 30 * (tint - 0.5)
    picture = picture + random.normal(0, _NOISE, picture.shape)
    image: NDArray[np.uint8] = np.clip(picture, 0, 255).astype(np.uint8)
    return image
