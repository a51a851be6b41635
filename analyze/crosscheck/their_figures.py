"""What does HolisticTraceAnalysis say about a trace? Runs it, and puts its answers into rows."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

from analyze.crosscheck.figure import Figure, activity_name
from analyze.errors import MissingData

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: names kept apart in its kernel breakdown: more than any trace has, since a fold changes the figures
ALL_NAMES = 1_000_000
#: its own limit between waiting for the device and waiting for something else, microseconds
CONSECUTIVE_KERNEL_DELAY_US = 30


def their_figures(path: str) -> list[Figure]:
    """Figures of one trace file, times in microseconds; raises MissingData where HTA is not installed."""
    try:
        from hta.analyzers.breakdown_analysis import BreakdownAnalysis  # noqa: PLC0415 - an optional extra
        from hta.analyzers.communication_analysis import CommunicationAnalysis  # noqa: PLC0415
        from hta.analyzers.cuda_kernel_analysis import CudaKernelAnalysis  # noqa: PLC0415
        from hta.analyzers.trace_counters import TraceCounters  # noqa: PLC0415
        from hta.common.trace import Trace  # noqa: PLC0415
    except ImportError as missing:
        raise MissingData("HolisticTraceAnalysis is not installed (pip install 'stepscope[hta]')") from missing
    logging.getLogger("hta").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace: Any = Trace(trace_files={0: path}, trace_dir="")
        trace.load_traces(use_multiprocessing=False, use_memory_profiling=False)
        answers: tuple[Callable[[], Iterator[Figure]], ...] = (
            lambda: _temporal(BreakdownAnalysis.get_temporal_breakdown(trace, visualize=False)),
            lambda: _overlap(CommunicationAnalysis.get_comm_comp_overlap(trace, visualize=False)),
            lambda: _kernels(
                *BreakdownAnalysis.get_gpu_kernel_breakdown(
                    trace, visualize=False, duration_ratio=1.0, num_kernels=ALL_NAMES, include_memory_kernels=True
                )
            ),
            lambda: _longest(BreakdownAnalysis.get_gpu_kernel_breakdown(trace, visualize=False, include_memory_kernels=True)[1]),
            lambda: _idle(
                BreakdownAnalysis.get_idle_time_breakdown(
                    trace, consecutive_kernel_delay=CONSECUTIVE_KERNEL_DELAY_US, rank=0, visualize=False
                )[0]
            ),
            lambda: _launches(CudaKernelAnalysis.cuda_kernel_launch_stats(trace, ranks=[0], visualize=False)[0]),
            lambda: _queues(TraceCounters.get_queue_length_time_series(trace, ranks=[0])[0]),
            lambda: _bandwidth(TraceCounters.get_memory_bw_time_series(trace, ranks=[0])[0]),
            lambda: _annotations(
                BreakdownAnalysis.get_gpu_user_annotation_breakdown(
                    trace, visualize=False, duration_ratio=1.0, num_kernels=ALL_NAMES
                )
            ),
        )
        return [figure for answer in answers for figure in _answered(answer)]


def _answered(answer: Callable[[], Iterator[Figure]]) -> list[Figure]:
    """An answer's figures; none where HTA fails, as it does where a trace lacks what the question needs."""
    try:
        return list(answer())
    except (ValueError, IndexError, KeyError, AssertionError, TypeError, AttributeError):
        return []


def _temporal(frame: Any) -> Iterator[Figure]:  # noqa: ANN401 - a pandas frame
    row = frame.iloc[0]
    for name in ("idle", "compute", "non_compute", "kernel"):
        yield Figure("temporal breakdown", f"{name}_time", float(row[f"{name}_time(us)"]), "us")


def _overlap(frame: Any) -> Iterator[Figure]:  # noqa: ANN401
    value = float(frame.iloc[0]["comp_comm_overlap_pctg"])
    if value == value:  # not NaN, its way of saying that nothing communicates  # noqa: PLR0124
        yield Figure("communication overlap", "hidden", value, "%")


def _kernels(types: Any, names: Any) -> Iterator[Figure]:  # noqa: ANN401
    for _, row in types.iterrows():
        yield Figure("kernel types", activity_name(row["kernel_type"].split(" overlapping ")), float(row["sum"]), "us")
    for name, total in names.groupby("name")["sum (us)"].sum().items():
        yield Figure("kernel total", str(name), float(total), "us")


def _longest(names: Any) -> Iterator[Figure]:  # noqa: ANN401
    """Its longest launch per name, as its usual report gives it."""
    for _, row in names[names["name"] != "others"].iterrows():
        yield Figure("kernel longest", str(row["name"]), float(row["max (us)"]), "us")


def _idle(frame: Any) -> Iterator[Figure]:  # noqa: ANN401
    for _, row in frame.iterrows():
        yield Figure("idle by stream", f"stream {int(row['stream'])} {row['idle_category']}", float(row["idle_time"]), "us")


def _launches(frame: Any) -> Iterator[Figure]:  # noqa: ANN401
    yield Figure("launches", "count", float(len(frame)), "")
    for column, name in (("cpu_duration", "calls"), ("gpu_duration", "work"), ("launch_delay", "delay")):
        yield Figure("launches", name, float(frame[column].sum()), "us")


def _queues(frame: Any) -> Iterator[Figure]:  # noqa: ANN401
    for stream, points in frame.groupby("stream")["queue_length"]:
        yield Figure("queue length", f"stream {int(stream)} changes", float(points.size), "")
        yield Figure("queue length", f"stream {int(stream)} mean", float(points.mean()), "")
        yield Figure("queue length", f"stream {int(stream)} longest", float(points.max()), "")


def _bandwidth(frame: Any) -> Iterator[Figure]:  # noqa: ANN401
    for name, points in frame[frame["memory_bw_gbps"] > 0].groupby("name")["memory_bw_gbps"]:
        yield Figure("copy bandwidth", str(name), float(points.mean()), "GB/s")


def _annotations(frame: Any) -> Iterator[Figure]:  # noqa: ANN401
    if frame is not None:
        for name, total in frame.groupby("name")["sum (us)"].sum().items():
            yield Figure("device annotations", str(name), float(total), "us")
