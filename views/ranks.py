"""The ranks of a run beside one another: who is late, why, and what each waits for."""

from __future__ import annotations

import streamlit as st

from analyze.report.charts.ranks import arrival_heat, devices_of, split_bars, step_heat, together, who_is_slow
from views.shell.markup import line
from views.shell.opened import opened
from views.shell.table import show_table
from views.shell.telemetry_chart import CONFIG, frame_or_none

it = opened()
st.title("Ranks")
steps, late = frame_or_none(it, "rank_steps"), frame_or_none(it, "lateness")
if steps is None or steps.is_empty() or late is None:
    line("Ranks are compared where a run has several: open the folder that holds the traces of all of them.")
    st.stop()
arrivals = frame_or_none(it, "collective_arrivals")
st.subheader("A step of each rank: its own part, waiting, transfer")
st.plotly_chart(split_bars(steps, arrivals), width="stretch", config=CONFIG, key="split")
st.subheader("Who is slow, and in what")
unsteady = "by more than the steps vary" if late["noise_ns"].null_count() == 0 else "by far: one step was recorded"
line(f"A cause is named only for a rank whose own part exceeds the others' {unsteady}.", faint=True)
show_table(who_is_slow(late))
st.subheader("Ranks by steps: each rank's own part")
line(
    "A rank's own part is what it did while no collective held it up. A warm row is a slow rank, a warm cell a slow step.",
    faint=True,
)
st.plotly_chart(step_heat(steps), width="stretch", config=CONFIG, key="steps")
if arrivals is None or arrivals.is_empty():
    line("The ranks have no collective in common, so there are no arrivals to compare.", faint=True)
else:
    st.subheader("Who came when to each collective")
    heat, drawn = arrival_heat(arrivals)
    count = arrivals.filter(~arrivals["profiler_start"])["match"].n_unique()
    some = f" The {drawn:,} most uneven of {count:,} are drawn." if drawn < count else ""
    line(f"How long after the first rank each came; who comes late lets the others wait.{some}", faint=True)
    st.plotly_chart(heat, width="stretch", config=CONFIG, key="arrivals")
    st.subheader("All ranks on one clock")
    numbers = arrivals["step"].unique().sort().to_list()
    step = st.selectbox("Step", numbers, index=len(numbers) // 2, key=f"ranks_step_{it.source.key}", width=240)
    line(
        "Collectives from arrival to end: pale where the rank worked meanwhile, else waiting for ranks, then transfer.",
        faint=True,
    )
    figure = together(arrivals, step)
    if figure is not None:
        st.plotly_chart(figure, width="stretch", config=CONFIG, key="together")
    clocks = frame_or_none(it, "rank_clocks")
    if clocks is not None:
        with st.expander("How the clocks were aligned"):
            show_table(clocks)
states = frame_or_none(it, "rank_states")
if states is not None:
    st.subheader("Their devices")
    show_table(devices_of(states))
