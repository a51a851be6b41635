"""Read a study, work out its tables, and say what follows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from analyze.errors import InputError
from analyze.ingest.study_file import study_fields
from analyze.study.conclusion import conclude, not_known
from analyze.study.model import CellState, Measured, Study
from analyze.study.published_2023 import EPOCHS, IMAGES_PER_EPOCH
from analyze.study.read_cells import read_cell
from analyze.study.side_by_side import side_by_side
from analyze.study.tables.agreement import agreement
from analyze.study.tables.batch_effect import batch_effect
from analyze.study.tables.causes import causes
from analyze.study.tables.energy import energy
from analyze.study.tables.gpu_work import gpu_work
from analyze.study.tables.inference import inference
from analyze.study.tables.losses import losses
from analyze.study.tables.memory import memory
from analyze.study.tables.operators import operators
from analyze.study.tables.over_time import over_time
from analyze.study.tables.results import results
from analyze.study.tables.speed_up import speed_up
from analyze.study.tables.throughput import throughput
from analyze.study.tables.training_time import training_time
from analyze.study.tables.utilisation import utilisation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl


def read_study(
    directory: str | Path,
    *,
    epochs: int = EPOCHS,
    images_per_epoch: int = IMAGES_PER_EPOCH,
    progress: Callable[[str, int, int], None] | None = None,
    cache: bool = True,
) -> Study:
    """Read a study's folder; raises InputError with one line where there is none, or none of its cells is finished.

    `progress` is told which cell is read, its number and how many there are.
    """
    folder = Path(directory)
    fields = study_fields(folder)
    states: list[CellState] = []
    cells: list[Measured] = []
    for number, cell in enumerate(fields["cells"], 1):
        if progress is not None:
            progress(str(cell["name"]), number, len(fields["cells"]))
        state, measured = read_cell(folder, cell, cache=cache)
        states.append(state)
        cells += [] if measured is None else [measured]
    if not cells:
        raise InputError(f"{folder}: no cell of this study is finished; go on with stepscope collect --resume {folder}")
    tables = work_out(cells, epochs, images_per_epoch)
    shared = fields.get("shared")
    options = shared.get("options") if isinstance(shared, dict) else None
    return Study(
        source=str(folder),
        options=options or {},
        epochs=epochs,
        images_per_epoch=images_per_epoch,
        cells=tuple(states),
        tables=tables,
        conclusion=conclude(tables),
        over_time=over_time(cells),
        not_known=not_known(states, cells, tables),
        verdicts={cell.name: cell.verdict for cell in cells if cell.verdict},
    )


def work_out(cells: Sequence[Measured], epochs: int, images_per_epoch: int) -> dict[str, pl.DataFrame]:
    """Return every table of a study, by name; a pure function of its cells."""
    tables: dict[str, pl.DataFrame] = {
        "throughput": throughput(cells),
        "speed_up": speed_up(cells),
        "causes": causes(cells),
        "utilisation": utilisation(cells),
        "memory": memory(cells),
        "energy": energy(cells, images_per_epoch),
        "results": results(cells),
        "losses": losses(cells),
        "operators": operators(cells),
    }
    tables["training_time"] = training_time(tables["throughput"], epochs, images_per_epoch)
    tables["batch_effect"] = batch_effect(*(tables[name] for name in ("throughput", "memory", "utilisation", "energy")))
    tables["inference"] = inference(cells, tables["throughput"])
    tables["agreement"] = agreement(cells, tables["results"])
    tables["gpu_work"] = gpu_work(tables["utilisation"], tables["energy"])
    return {**tables, "side_by_side": side_by_side(tables)}
