"""Do several ranks run on one device? Then each lengthens the others' kernels, and times on it say little about one rank."""

from __future__ import annotations

import polars as pl

#: confidence of what is said about one rank's work by times on a device that it shares, as a share of the usual
SHARED_CERTAINTY = 0.6
SHARED_CAVEAT = (
    "it shares its device with another rank: each lengthens the other's kernels, and the device has as much to do "
    "however the work is spread, so the saving may be nothing"
)


def shares_device(rank: int, rank_states: pl.DataFrame | None) -> bool:
    """Whether another rank runs on this rank's device; not known without device ids, then no."""
    if rank_states is None:
        return False
    by_device = rank_states.drop_nulls("device_uuid").filter(pl.len().over("device_uuid") > 1)
    return rank in by_device["rank"].to_list()
