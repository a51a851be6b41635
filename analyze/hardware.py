"""What each device can do: dense peak rates by precision, memory and link bandwidth, each with its source.

Rates are the vendors' datasheet figures without sparsity, for the board named. They are ceilings: a detector compares with
them or with what the same trace reaches, never with a threshold fitted to one card. An unknown device yields None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TERA, GIGA = 1e12, 1e9


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """Ceilings of one device; rates in FLOP/s (OP/s for int8), bandwidths in bytes/s, one direction for the host link."""

    name: str
    flops: Mapping[str, float]
    memory_bytes_per_s: float
    host_link_bytes_per_s: float
    device_link_bytes_per_s: float | None
    idle_power_w: float | None
    power_limit_w: float | None
    source: str

    def peak(self, precision: str) -> float | None:
        """Peak rate of a precision in FLOP/s; None where the device lacks it or it is unknown."""
        return self.flops.get(precision)


def _device(
    name: str,
    *,
    fp64: float,
    fp32: float,
    tf32: float | None,
    bf16: float | None,
    fp16: float | None,
    fp8: float | None = None,
    int8: float | None = None,
    memory: float,
    pcie: float,
    link: float | None,
    power: float,
    idle: float | None,
    source: str,
) -> Hardware:
    rates = {"fp64": fp64, "fp32": fp32, "tf32": tf32, "bf16": bf16, "fp16": fp16, "fp8": fp8, "int8": int8}
    return Hardware(
        name=name,
        flops={key: value * TERA for key, value in rates.items() if value is not None},
        memory_bytes_per_s=memory * GIGA,
        host_link_bytes_per_s=pcie * GIGA,
        device_link_bytes_per_s=None if link is None else link * GIGA,
        idle_power_w=idle,
        power_limit_w=power,
        source=source,
    )


#: PCI Express by generation, 16 lanes, one direction, GB/s after encoding (PCI-SIG)
PCIE3, PCIE4, PCIE5 = 15.75, 31.5, 63.0

#: first entry whose pattern stands in the device name, in lower case, wins: more specific names stand first
# fmt: off
DEVICES: tuple[tuple[str, Hardware], ...] = (
    ("gb200", _device("GB200", fp64=40, fp32=80, tf32=1250, bf16=2500, fp16=2500, fp8=5000, int8=5000, memory=8000, pcie=450, link=900, power=1200, idle=None, source="NVIDIA GB200 NVL72 datasheet, per GPU")),
    ("b200", _device("B200", fp64=37, fp32=75, tf32=1100, bf16=2250, fp16=2250, fp8=4500, int8=4500, memory=8000, pcie=PCIE5, link=900, power=1000, idle=None, source="NVIDIA DGX B200 datasheet, per GPU")),
    ("gh200", _device("GH200", fp64=67, fp32=67, tf32=494, bf16=989, fp16=989, fp8=1979, int8=1979, memory=4000, pcie=450, link=450, power=700, idle=None, source="NVIDIA GH200 datasheet")),
    ("h200", _device("H200", fp64=67, fp32=67, tf32=494, bf16=989, fp16=989, fp8=1979, int8=1979, memory=4800, pcie=PCIE5, link=450, power=700, idle=75, source="NVIDIA H200 datasheet (SXM)")),
    ("h100 pcie", _device("H100 PCIe", fp64=51, fp32=51, tf32=378, bf16=756, fp16=756, fp8=1513, int8=1513, memory=2000, pcie=PCIE5, link=300, power=350, idle=50, source="NVIDIA H100 datasheet (PCIe)")),
    ("h100 nvl", _device("H100 NVL", fp64=60, fp32=60, tf32=418, bf16=835, fp16=835, fp8=1671, int8=1671, memory=3900, pcie=PCIE5, link=300, power=400, idle=60, source="NVIDIA H100 datasheet (NVL)")),
    ("h100", _device("H100", fp64=67, fp32=67, tf32=494, bf16=989, fp16=989, fp8=1979, int8=1979, memory=3350, pcie=PCIE5, link=450, power=700, idle=70, source="NVIDIA H100 datasheet (SXM)")),
    ("h800", _device("H800", fp64=1, fp32=67, tf32=494, bf16=989, fp16=989, fp8=1979, int8=1979, memory=3350, pcie=PCIE5, link=200, power=700, idle=70, source="NVIDIA H800 datasheet (SXM)")),
    ("a100", _device("A100", fp64=19.5, fp32=19.5, tf32=156, bf16=312, fp16=312, int8=624, memory=2039, pcie=PCIE4, link=300, power=400, idle=55, source="NVIDIA A100 datasheet (80 GB SXM)")),
    ("a800", _device("A800", fp64=19.5, fp32=19.5, tf32=156, bf16=312, fp16=312, int8=624, memory=2039, pcie=PCIE4, link=200, power=400, idle=55, source="NVIDIA A800 datasheet")),
    ("l40s", _device("L40S", fp64=1.4, fp32=91.6, tf32=183, bf16=362, fp16=362, fp8=733, int8=733, memory=864, pcie=PCIE4, link=None, power=350, idle=35, source="NVIDIA L40S datasheet")),
    ("l40", _device("L40", fp64=1.4, fp32=90.5, tf32=90.5, bf16=181, fp16=181, fp8=362, int8=362, memory=864, pcie=PCIE4, link=None, power=300, idle=35, source="NVIDIA L40 datasheet")),
    ("l4", _device("L4", fp64=0.5, fp32=30.3, tf32=60, bf16=121, fp16=121, fp8=242, int8=242, memory=300, pcie=PCIE4, link=None, power=72, idle=16, source="NVIDIA L4 datasheet")),
    ("rtx 6000 ada", _device("RTX 6000 Ada", fp64=1.4, fp32=91.1, tf32=182, bf16=364, fp16=364, fp8=728, int8=728, memory=960, pcie=PCIE4, link=None, power=300, idle=25, source="NVIDIA RTX 6000 Ada datasheet")),
    ("a6000", _device("RTX A6000", fp64=0.6, fp32=38.7, tf32=77, bf16=155, fp16=155, int8=310, memory=768, pcie=PCIE4, link=56, power=300, idle=23, source="NVIDIA RTX A6000 datasheet")),
    ("a40", _device("A40", fp64=0.6, fp32=37.4, tf32=74.8, bf16=149.7, fp16=149.7, int8=299, memory=696, pcie=PCIE4, link=56, power=300, idle=30, source="NVIDIA A40 datasheet")),
    ("a10g", _device("A10G", fp64=0.5, fp32=31.5, tf32=35, bf16=70, fp16=70, int8=140, memory=600, pcie=PCIE4, link=None, power=300, idle=20, source="AWS G5 and NVIDIA A10G figures")),
    ("a10", _device("A10", fp64=0.5, fp32=31.2, tf32=62.5, bf16=125, fp16=125, int8=250, memory=600, pcie=PCIE4, link=None, power=150, idle=20, source="NVIDIA A10 datasheet")),
    ("rtx 4090", _device("RTX 4090", fp64=1.3, fp32=82.6, tf32=82.6, bf16=165, fp16=165, fp8=330, int8=660, memory=1008, pcie=PCIE4, link=None, power=450, idle=20, source="NVIDIA Ada architecture whitepaper")),
    ("rtx 3090", _device("RTX 3090", fp64=0.6, fp32=35.6, tf32=35.6, bf16=71, fp16=71, int8=284, memory=936, pcie=PCIE4, link=56, power=350, idle=25, source="NVIDIA GA102 whitepaper")),
    ("rtx 3080", _device("RTX 3080", fp64=0.5, fp32=29.8, tf32=29.8, bf16=59.5, fp16=59.5, int8=238, memory=760, pcie=PCIE4, link=None, power=320, idle=20, source="NVIDIA GA102 whitepaper")),
    ("rtx 2080 ti", _device("RTX 2080 Ti", fp64=0.4, fp32=13.4, tf32=None, bf16=None, fp16=53.8, int8=215, memory=616, pcie=PCIE3, link=50, power=250, idle=15, source="NVIDIA Turing whitepaper")),
    ("rtx 2080", _device("RTX 2080", fp64=0.3, fp32=10.1, tf32=None, bf16=None, fp16=40.3, int8=161, memory=448, pcie=PCIE3, link=25, power=215, idle=15, source="NVIDIA Turing whitepaper")),
    ("v100", _device("V100", fp64=7.8, fp32=15.7, tf32=None, bf16=None, fp16=125, memory=900, pcie=PCIE3, link=150, power=300, idle=40, source="NVIDIA V100 datasheet (SXM2)")),
    ("t4", _device("T4", fp64=0.25, fp32=8.1, tf32=None, bf16=None, fp16=65, int8=130, memory=320, pcie=PCIE3, link=None, power=70, idle=10, source="NVIDIA T4 datasheet")),
    ("mi355", _device("MI355X", fp64=78.6, fp32=157.3, tf32=None, bf16=2516, fp16=2516, fp8=5033, int8=5033, memory=8000, pcie=PCIE5, link=538, power=1400, idle=None, source="AMD Instinct MI355X datasheet")),
    ("mi325", _device("MI325X", fp64=81.7, fp32=163.4, tf32=653.7, bf16=1307, fp16=1307, fp8=2615, int8=2615, memory=6000, pcie=PCIE5, link=448, power=1000, idle=None, source="AMD Instinct MI325X datasheet")),
    ("mi300x", _device("MI300X", fp64=81.7, fp32=163.4, tf32=653.7, bf16=1307, fp16=1307, fp8=2615, int8=2615, memory=5300, pcie=PCIE5, link=448, power=750, idle=140, source="AMD Instinct MI300X datasheet")),
    ("mi300a", _device("MI300A", fp64=61.3, fp32=122.6, tf32=490, bf16=981, fp16=981, fp8=1961, int8=1961, memory=5300, pcie=PCIE5, link=384, power=550, idle=None, source="AMD Instinct MI300A datasheet")),
    ("mi250", _device("MI250X", fp64=24, fp32=24, tf32=None, bf16=191.5, fp16=191.5, int8=191.5, memory=1638, pcie=PCIE4, link=200, power=500, idle=90, source="AMD Instinct MI250X datasheet, one of two dies")),
    ("mi210", _device("MI210", fp64=22.6, fp32=22.6, tf32=None, bf16=181, fp16=181, int8=181, memory=1638, pcie=PCIE4, link=150, power=300, idle=40, source="AMD Instinct MI210 datasheet")),
)
# fmt: on


def find(device_name: str | None) -> Hardware | None:
    """Ceilings of a device by its name as the trace or NVML writes it; None where the table lacks it."""
    wanted = (device_name or "").lower()
    return next((hardware for pattern, hardware in DEVICES if _names(pattern, wanted)), None)


def _names(pattern: str, device_name: str) -> bool:
    """Whether the model stands in the name by itself: T4 is not part of T400, nor A40 of A4000."""
    return re.search(rf"(?<![a-z0-9]){pattern}(?!\d)", device_name) is not None
