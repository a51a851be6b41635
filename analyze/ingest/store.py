"""Where do parsed frames live: in memory while a file is small, in Parquet parts once it is not?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


class FrameStore:
    """Takes frames as they are flushed; the first ones stay in memory until more come."""

    def __init__(self, folder: Callable[[], Path], prefix: str = "0") -> None:
        #: called when something must be written for the first time
        self.folder = folder
        self.prefix = prefix
        self.held: dict[str, pl.DataFrame] | None = None
        self.files: dict[str, list[str]] = {}
        self.count = 0

    def take(self, frames: dict[str, pl.DataFrame]) -> None:
        """Keep these frames, writing the ones kept before."""
        if self.held is not None:
            self.write()
        self.held = frames

    def write(self) -> None:
        """Write what is held as one part per family."""
        folder = self.folder()
        for family, frame in (self.held or {}).items():
            if frame.is_empty():
                continue
            name = f"{family}.{self.prefix}.{self.count:05d}.parquet"
            write_part(frame, folder / name)
            self.files.setdefault(family, []).append(name)
        self.count += 1
        self.held = None


def write_part(frame: pl.DataFrame, path: Path) -> None:
    """Write one Parquet part; level 1 compresses nearly as well as 3 and is the fastest to write and read."""
    frame.write_parquet(path, compression="zstd", compression_level=1, statistics=False)


def scan(folder: Path, parts: Mapping[str, Sequence[tuple[str, int]]], shift_ns: int) -> dict[str, pl.LazyFrame]:
    """Lazy frames of every family over the parts, each given with what is added to its ids."""
    frames = {}
    for family, columns in schema.FAMILIES.items():
        by_offset: dict[int, list[Path]] = {}
        for name, offset in parts.get(family, ()):
            by_offset.setdefault(offset, []).append(folder / name)
        scans = [_shifted(pl.scan_parquet(paths), family, shift_ns, offset) for offset, paths in by_offset.items()]
        frames[family] = pl.concat(scans) if scans else schema.empty(columns).lazy()
    return frames


def in_memory(held: Mapping[str, pl.DataFrame], shift_ns: int) -> dict[str, pl.LazyFrame]:
    """Lazy frames of every family over frames in memory."""
    return {
        family: _shifted(held[family].lazy(), family, shift_ns, 0) if family in held else schema.empty(columns).lazy()
        for family, columns in schema.FAMILIES.items()
    }


def _shifted(frame: pl.LazyFrame, family: str, shift_ns: int, id_offset: int) -> pl.LazyFrame:
    names = {each.name for each in schema.FAMILIES[family]}
    changes = []
    if shift_ns and "start_ns" in names:
        changes.append(pl.col("start_ns") + shift_ns)
    if id_offset and "id" in names:
        changes.append(pl.col("id") + id_offset)
    return frame.with_columns(changes) if changes else frame
