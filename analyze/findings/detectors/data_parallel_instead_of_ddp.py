"""nn.DataParallel drives several GPUs from one process, copying the model to all of them in every step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from analyze.findings.model import Detector, Finding, Remedy, Severity
from analyze.findings.modelled_saving import modelled_through_replay
from analyze.findings.saving import digits
from analyze.intervals import of_frame
from analyze.replay.edits import without_host_regions
from analyze.scalars import number

if TYPE_CHECKING:
    from analyze.replay import Replay

DETECTOR = Detector(
    id="data-parallel-instead-of-ddp",
    title="DataParallel copies the model to every GPU in each step",
    meaning=(
        "One process scatters the batch, copies all parameters to every device, runs them from Python threads that share one "
        "lock, and gathers outputs and gradients on the first device. DistributedDataParallel keeps a copy of the model "
        "on each device and exchanges gradients alone, while the backward pass goes on."
    ),
    measured=(
        "The scatter, broadcast and gather operators of nn.DataParallel, in a process with work on several devices. Saving: the "
        "recorded steps replayed without them; that each device then has a process of its own helps further and is not counted."
    ),
    fix=(
        Remedy(
            text="Use DistributedDataParallel, one process per device",
            code=(
                'torch.distributed.init_process_group("nccl")\n'
                'rank = int(os.environ["LOCAL_RANK"])\n'
                "torch.cuda.set_device(rank)\n"
                "model = torch.nn.parallel.DistributedDataParallel(model.to(rank), device_ids=[rank])"
            ),
        ),
        Remedy(text="Start one process per device", code="torchrun --nproc-per-node 4 train.py"),
    ),
    doc="https://docs.pytorch.org/docs/stable/notes/cuda.html#use-nn-parallel-distributeddataparallel-instead-of-multiprocessing-or-nn-dataparallel",
)

#: functions of torch.nn.parallel, forward and backward
OPERATORS = r"^(Scatter|Broadcast|Gather)(Backward)?$"
#: both must appear: other libraries gather or scatter too
TELLING = ("Broadcast", "Gather")
#: share of their time that stays where only some of it is hidden
CAUTIOUS_KEEP_SHARE = 0.5


def detect(cpu_ops: pl.DataFrame, kernels: pl.DataFrame, replay: Replay | None = None) -> list[Finding]:
    """A saving, or a note where the copying is cheap."""
    mine = cpu_ops.filter(pl.col("name").cast(pl.String).str.contains(OPERATORS), pl.col("step").is_not_null())
    names = set(mine["name"].cast(pl.String).str.replace("Backward", ""))
    devices = kernels["device"].drop_nulls().n_unique()
    if not names.issuperset(TELLING) or devices < 2:  # noqa: PLR2004 - one device needs no copies of the model
        return []
    spent = number(mine["dur_ns"].sum()) / mine["step"].n_unique()
    message = (
        f"One process drives {devices} GPUs through nn.DataParallel: scattering the batch, copying the model and gathering take "
        f"{digits(spent / 1e6)} ms of host time a step"
    )
    evidence = (
        mine.sort("dur_ns", descending=True, maintain_order=True).select("step", "name", "start_ns", "dur_ns", "thread").head(50)
    )
    found: list[Finding] = []
    if replay is not None:
        regions = of_frame(mine)
        found = modelled_through_replay(
            DETECTOR.id,
            replay,
            without_host_regions(regions),
            cautious=without_host_regions(regions, keep_share=CAUTIOUS_KEEP_SHARE, keep_work=True),
            optimistic=without_host_regions(regions),
            message=f"{message}; without them the step would give back {{saving}}.",
            location="torch.nn.DataParallel",
            evidence=evidence,
        )
    note = Finding(
        detector=DETECTOR.id,
        kind="note",
        message=f"{message}.",
        confidence=0.8,
        severity=Severity.MEDIUM,
        location="torch.nn.DataParallel",
        evidence=evidence,
    )
    return found or [note]
