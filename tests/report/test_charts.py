"""What the charts are given: parts that add up, one clock, names that stay text."""

# ruff: noqa: RUF001 - dashes and minus signs are meant
from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from analyze.report.charts.colours import PARTS, text_on
from analyze.report.charts.metrics import METRICS, overview_metrics, sampled
from analyze.report.charts.step_bar import segments
from analyze.report.charts.telemetry import POINTS, bands, device_names, telemetry_figure
from analyze.report.charts.timeline import ITEMS, items, timeline_figure
from tests import reports
from tests.app import fakes
from tests.builders import table
from tests.reports import HOSTILE, MS, SUMMARY

SECOND = fakes.SECOND


def traces(figure: dict, name: str) -> list[dict]:
    """Traces of the panel with this title."""
    titles = [annotation["text"] for annotation in figure["layout"]["annotations"]]
    axis = titles.index(name)
    return [
        trace for trace in figure["data"] if trace["yaxis"] == ("y" if axis == 0 else f"y{axis + 1}") and trace["x"] != [None]
    ]


def test_segments_are_sorted_and_their_texts_add_up_to_the_step() -> None:
    parts, total = segments(SUMMARY)
    assert [(one.name, one.ms) for one in parts] == [
        ("exposed copy", "50.1"),
        ("compute", "14.3"),
        ("idle: launch", "3.6"),
        ("unexplained", "0.4"),
    ]
    assert total == "68.4"
    assert sum(one.width for one in parts) == pytest.approx(1)


def test_a_part_that_prints_as_nothing_is_not_listed() -> None:
    parts, _ = segments(replace(SUMMARY, step_parts_ns={"compute": 68.4 * MS, "idle_other": 100.0}))
    assert [one.name for one in parts] == ["compute"]


def test_a_negative_part_is_listed_but_has_no_width() -> None:
    parts, total = segments(replace(SUMMARY, step_parts_ns={"compute": 70 * MS, "unexplained": -1.6 * MS}))
    assert [(one.ms, one.width) for one in parts] == [("70.0", 1.0), ("−1.6", 0.0)]
    assert total == "68.4"


def test_without_parts_there_is_no_bar() -> None:
    assert segments(replace(SUMMARY, step_parts_ns={}))[0] == ()


def test_the_host_parts_of_a_cpu_run_are_drawn() -> None:
    parts, _ = segments(reports.cpu_report().summary)
    assert [one.name for one in parts] == ["backward", "forward", "optimizer"]


def luminance(colour: str) -> float:
    def linear(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", PARTS)
def test_labels_can_be_read_on_every_part(name: str) -> None:
    lighter, darker = sorted((luminance(PARTS[name]), luminance(text_on(PARTS[name]))), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("background", ["#ffffff", "#12161d"])
def test_every_part_stands_out_from_both_backgrounds(name: str, background: str) -> None:
    lighter, darker = sorted((luminance(PARTS[name]), luminance(background)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 2.2


def test_telemetry_and_steps_share_one_clock() -> None:
    figure = telemetry_figure(fakes.telemetry(), fakes.step_log(), None, {"GPU-a": "GPU 0", "GPU-b": "GPU 1"})
    assert figure is not None
    step, waiting = traces(figure, "Step time, of it waiting for input (red), ms")
    assert (step["x"][0], step["width"][0], step["y"][0], waiting["y"][0]) == (2.0, 0.9, 900.0, 200.0)
    first, second = traces(figure, "GPU utilisation, %")
    assert (first["name"], first["x"][:2], first["y"][:2]) == ("GPU 0", [0.0, 1.0], [90.0, 89.0])
    assert (second["name"], second["y"][0]) == ("GPU 1", 10.0)
    assert figure["layout"]["xaxis"]["title"]["text"] == "seconds since 2025-12-01 21:43:05 UTC"


def test_a_metric_that_a_device_does_not_tell_has_no_line() -> None:
    figure = telemetry_figure(fakes.telemetry(), None, None, {})
    assert [trace["name"] for trace in traces(figure, "GPU power, W")] == ["GPU-a"]
    assert "CPU temperature, °C" not in [annotation["text"] for annotation in figure["layout"]["annotations"]]


def test_a_counter_is_drawn_as_a_rate_and_a_reset_says_nothing() -> None:
    counted = [(second * SECOND, float(value)) for second, value in enumerate((5e6, 6e6, 1e6, 4e6))]
    frame = pl.DataFrame(counted, schema=["time_ns", "value"], orient="row").with_columns(
        host=pl.lit("box"),
        source=pl.lit("psutil"),
        device_uuid=pl.lit(None, pl.String),
        metric=pl.lit("disk_read_bytes"),
        unit=pl.lit("bytes"),
    )
    (line,) = traces(telemetry_figure(frame, None, None, {}), "Disk reads, MB/s")
    assert (line["x"], line["y"]) == ([1.0, 3.0], [1.0, 3.0])


def test_cores_are_rows_of_colour_in_their_order() -> None:
    figure = telemetry_figure(fakes.telemetry(), None, None, {})
    (heat,) = traces(figure, "CPU by core, %")
    assert (heat["type"], heat["y"]) == ("heatmap", ["box 0", "box 1", "box 2", "box 3"])
    assert [row[0] for row in heat["z"]] == [0.0, 20.0, 40.0, 60.0]


@pytest.mark.parametrize(("reasons", "lanes"), [(("", ".power_cap"), ["GPU-a power_cap"]), (("",), ["GPU-a "])])
def test_what_only_counts_the_members_is_no_row_of_its_own(reasons: tuple[str, ...], lanes: list[str]) -> None:
    rows = ({"time_ns": second * 10**9, "host": "box", "source": "nvml", "device_uuid": "GPU-a",
             "metric": f"throttle_reasons{reason}", "value": 1.0} for reason in reasons for second in range(3))  # fmt: skip
    figure = telemetry_figure(table("telemetry", *rows), None, None, {})
    (heat,) = traces(figure, "GPU clocks held down by")
    assert heat["y"] == lanes


def test_a_long_series_is_thinned_to_means() -> None:
    (line, _) = traces(telemetry_figure(fakes.telemetry(seconds=4 * POINTS), None, None, {}), "GPU utilisation, %")
    assert len(line["x"]) == POINTS
    assert (line["x"][0], line["y"][0]) == (1.5, 88.5)


def test_phases_of_a_run_are_bands_and_settling_is_none() -> None:
    assert [(band.label, band.start_s, band.end_s) for band in bands(fakes.step_log(), None, fakes.START_NS)] == [
        ("steps without the profiler", 4.0, 8.9),
        ("profiled for times", 9.0, 11.9),
        ("profiled for explanations", 12.0, 13.9),
    ]


def test_without_a_step_log_the_recorded_window_is_the_band() -> None:
    (band,) = bands(None, (3 * SECOND, 5 * SECOND), SECOND)
    assert (band.label, band.start_s, band.end_s) == ("recorded window", 2.0, 4.0)
    assert bands(None, None, 0) == []


def test_steps_that_settle_do_not_set_the_scale() -> None:
    log = fakes.step_log().with_columns(dur_ns=pl.when(pl.col("step") == 0).then(60 * SECOND).otherwise(pl.col("dur_ns")))
    figure = telemetry_figure(fakes.telemetry(), log, None, {})
    assert figure["layout"]["yaxis"]["range"] == [0, pytest.approx(1035)]


def test_nothing_sampled_is_no_figure() -> None:
    assert telemetry_figure(fakes.telemetry().clear(), None, None, {}) is None
    assert telemetry_figure(None, None, (0, 1), {}) is None


def test_every_device_is_named_once_in_the_legend() -> None:
    figure = telemetry_figure(fakes.telemetry(), fakes.step_log(), None, {"GPU-a": "GPU 0", "GPU-b": "GPU 1"})
    named = [trace["name"] for trace in figure["data"] if trace["showlegend"]]
    bands_named = ["steps without the profiler", "profiled for times", "profiled for explanations"]
    assert named == ["GPU 0", "GPU 1", *bands_named]


def test_device_names_come_from_the_manifest() -> None:
    assert device_names({"devices": [{"index": 1, "uuid": "GPU-b"}, {"index": 0}, "odd"]}) == {"GPU-b": "GPU 1"}
    assert device_names(None) == {}


def test_a_cpu_run_has_no_gpu_panels() -> None:
    assert {metric.source for metric in overview_metrics(reports.cpu_report().summary)} == {"psutil"}
    assert {metric.source for metric in overview_metrics(SUMMARY)} == {"psutil", "nvml"}


def test_metrics_nobody_foresaw_are_offered_under_their_own_name() -> None:
    frame = fakes.telemetry().with_columns(metric=pl.col("metric").cast(pl.String).replace("power_w", "fan_percent"))
    titles = [metric.title for metric in sampled(frame)]
    assert titles[-1] == "nvml fan percent, W"
    assert "GPU power, W" not in titles
    assert [metric.usual for metric in sampled(frame)][-1] is False


def test_metrics_are_listed_in_the_order_of_reading() -> None:
    order = [metric.title for metric in METRICS]
    listed = [metric.title for metric in sampled(fakes.telemetry())]
    assert listed == [title for title in order if title in listed]


def test_a_step_has_the_work_it_launched_and_its_calls_in_lanes() -> None:
    shown = items(7, fakes.kernels(), None, fakes.launches(), None)
    assert shown.select("lane", "kind", "name").rows() == [
        ("host thread 100", "launch", "cudaLaunchKernel"),
        ("host thread 100", "waiting call", "cudaStreamSynchronize"),
        ("device 0 stream 7", "gemm", "gemm_kernel"),
        ("device 0 stream 7", "elementwise", "relu"),
    ]


def test_without_device_work_the_outermost_operators_are_drawn() -> None:
    ops = pl.DataFrame(
        {
            "name": ["aten::linear", "aten::mm"],
            "thread": ["1", "1"],
            "depth": [0, 1],
            "step": [7, 7],
            "start_ns": [0, 1],
            "dur_ns": [9, 5],
        }
    )
    assert items(7, None, None, None, ops)["name"].to_list() == ["aten::linear"]
    assert items(7, fakes.kernels(), None, None, ops)["name"].to_list() == ["gemm_kernel", "relu"]


def test_bars_are_in_ms_since_the_step_began() -> None:
    figure, drawn = timeline_figure(items(7, fakes.kernels(), None, None, None), 500_000)
    gemm = next(trace for trace in figure["data"] if trace["name"] == "gemm")
    assert (gemm["base"], gemm["x"], drawn) == ([0.5], [2.0], 2)


def test_the_longest_items_are_drawn() -> None:
    many = pl.DataFrame({"lane": "a", "kind": "gemm", "name": "k", "start_ns": range(ITEMS + 9), "dur_ns": range(ITEMS + 9)})
    figure, drawn = timeline_figure(many, 0)
    assert drawn == ITEMS
    assert min(figure["data"][0]["x"]) == 9 / 1e6


def test_names_are_text_to_plotly_too() -> None:
    figure, _ = timeline_figure(items(7, fakes.kernels(HOSTILE), None, None, None), 0)
    telemetry = fakes.telemetry().with_columns(host=pl.lit(HOSTILE))
    for chart in (figure, telemetry_figure(telemetry, None, None, {"GPU-a": HOSTILE})):
        assert "<img" not in str(chart)
        assert "&lt;img src=x onerror=alert(1)&gt;" in str(chart)
