from __future__ import annotations

from types import SimpleNamespace

import pytest

from collect.batches import batch_samples, loader_steps, prefetched_batches
from collect.input_feed import InputFeed


def array(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


@pytest.mark.parametrize(
    ("batch", "samples"),
    [
        (array(16, 3, 64, 64), 16),
        ((array(8, 3), array(8)), 8),
        ({"input_ids": array(4, 128), "labels": array(4)}, 4),
        ([("a", "b"), {"x": array(2, 2)}], 2),
        (array(), None),
        ("text", None),
        (["text", b"bytes"], None),
        (None, None),
        (7, None),
    ],
)
def test_samples_are_the_first_dimension_of_the_first_tensor(batch: object, samples: int | None):
    assert batch_samples(batch) == samples


def test_a_batch_that_holds_itself_is_not_followed_forever():
    batch: list[object] = []
    batch.append(batch)
    assert batch_samples(batch) is None


@pytest.mark.parametrize(
    ("loader", "batches"),
    [
        (SimpleNamespace(num_workers=4, prefetch_factor=3), 12),
        (SimpleNamespace(num_workers=4, prefetch_factor=None), 8),
        (SimpleNamespace(num_workers=0, prefetch_factor=None), 0),
        ([1, 2, 3], 0),
        (SimpleNamespace(num_workers="many"), 0),
    ],
)
def test_workers_hoard_as_many_batches_as_they_may(loader: object, batches: int):
    assert prefetched_batches(loader) == batches


def test_length_of_a_loader_is_unknown_where_it_has_none():
    assert loader_steps([1, 2, 3]) == 3
    assert loader_steps(iter([1])) is None


def test_a_step_of_several_batches_adds_them_up():
    feed = InputFeed()
    feed.took(100, array(16, 3), 41, 50)
    feed.took(50, array(16, 3), 40, 50)
    assert (feed.wait_ns, feed.samples, feed.steps_left, feed.epoch_steps) == (150, 32, 20, 25)
    feed.forget()
    assert (feed.wait_ns, feed.samples, feed.batches) == (0, None, 0)


def test_an_epoch_without_length_is_unknown():
    feed = InputFeed()
    feed.took(100, "text", None, None)
    assert (feed.samples, feed.steps_left, feed.epoch_steps) == (None, None, None)
