from __future__ import annotations

import io

from collect.progress import Bar, Lines, Silence, choose_progress


def test_lines_name_the_stages_and_leave_out_the_pauses():
    stream = io.StringIO()
    lines = Lines(stream)
    lines.stage("settling", 0)
    lines.stage("refill", 12)
    lines.stage("times", 14)
    lines.step(15, lambda: 3)
    lines.say("done")
    lines.close()
    assert stream.getvalue() == (
        "stepscope: step 0: waiting for step time to settle\nstepscope: step 14: profiling: times\nstepscope: done\n"
    )


def test_a_stream_that_is_gone_ends_nothing():
    stream = io.StringIO()
    stream.close()
    Lines(stream).say("unheard")


def test_only_rank_0_speaks_and_a_bar_needs_a_terminal():
    assert isinstance(choose_progress(rank=1, bar=True), Silence)
    assert isinstance(choose_progress(rank=0, bar=True), Lines)
    assert isinstance(choose_progress(rank=0, bar=False), Lines)


def test_a_bar_follows_the_estimate():
    bar = Bar()
    bar.stage("times", 10)
    bar.step(10, lambda: 30)
    task = bar._progress.tasks[0]
    assert (task.completed, task.total, task.description) == (10, 40, "profiling: times")
    bar.say("[red]not markup[/red]")
    bar.close()
