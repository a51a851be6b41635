"""What exactly did the file say about one event? Read again from the file when asked, so that it costs no memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from polars.io.plugins import register_io_source

from analyze import schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from analyze.ingest.limits import Limits

RAW_SCHEMA = {each.name: each.dtype for each in schema.FAMILIES["raw"]}


def raw_events(path: Path, limits: Limits, *, literal: bool) -> pl.LazyFrame:
    """Lazy `raw` family of one file: id and text of every event that was read."""

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, row_count: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size
        left = row_count
        for frame in _frames(path, limits, literal=literal):
            kept = frame if predicate is None else frame.filter(predicate)
            kept = kept if left is None else kept.head(left)
            yield kept if columns is None else kept.select(columns)
            if left is not None:
                left -= len(kept)
                if left <= 0:
                    return

    return register_io_source(source, schema=RAW_SCHEMA)


def _frames(path: Path, limits: Limits, *, literal: bool) -> Iterator[pl.DataFrame]:
    # asked for rarely, and the readers take time to import
    from analyze.ingest.chunks import ChunkReader  # noqa: PLC0415
    from analyze.ingest.quality import QualityLog  # noqa: PLC0415
    from analyze.ingest.salvage import EventText  # noqa: PLC0415
    from analyze.ingest.streams import Decompressed  # noqa: PLC0415

    first_id = 0
    with Decompressed(path, limits) as stream:
        reader = ChunkReader(stream)
        reader.header()
        text = EventText(QualityLog(), literal=literal)
        for chunk in reader.chunks():
            if text.tail is not None:
                return
            text.decode(chunk)
            if text.unfinished and not chunk.is_last:
                reader.give_back(text.unfinished)
            texts = text.texts()
            ids = pl.int_range(first_id, first_id + len(texts), dtype=pl.Int64, eager=True)
            yield pl.DataFrame({"id": ids, "text": pl.Series(texts, dtype=pl.String)})
            first_id += len(texts)
