"""Argument columns of the compiled reader."""

from __future__ import annotations

import polars as pl
import pytest

from analyze.ingest.arguments import ArgumentReader
from analyze.ingest.compiled.arguments import scanned_arguments
from analyze.ingest.compiled.events import scanned

pytestmark = pytest.mark.usefixtures("compiled")


def read(texts: list[str], *keys: tuple[str, str]) -> list[list | None] | None:
    text = ",".join(f'{{"ph":"X","args":{each}}}' for each in texts).encode()
    found = scanned(text)
    assert found is not None
    columns = found[0].columns
    given = scanned_arguments(text, columns["arguments"], columns["arguments_length"], keys)
    return None if given is None else [None if each is None else each.to_list() for each in given]


def test_every_kind():
    texts = ['{"i": -5, "f": 0.1, "t": "a\\tb", "j": [1,\n   {"x": 2}]}', '{"f": 3, "t": null, "other": [9]}', "null"]
    assert read(texts, ("i", "int"), ("f", "float"), ("t", "text"), ("j", "json"), ("absent", "int")) == [
        [-5, None, None],
        [0.1, 3.0, None],
        ["a\tb", None, None],
        ['[1,{"x": 2}]', None, None],
        None,
    ]


def test_doubles_are_those_of_python():
    texts = ["0.1", "1e22", "123456789012345678", "4.9e-324", "-0.0", "1.7976931348623157e308", "0.30000000000000004"]
    (values,) = read([f'{{"f": {each}}}' for each in texts], ("f", "float"))
    assert values == [float(each) for each in texts]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("1.0", "int"),
        ('"0x1f"', "int"),
        ("1234567890123456789", "int"),
        ("true", "int"),
        ("5", "text"),
        ('"1"', "float"),
        ("1e309", "float"),
    ],
)
def test_a_value_of_another_type_is_left_to_python(value, kind):
    assert read([f'{{"k": {value}}}'], ("k", kind)) is None


@pytest.mark.parametrize("text", ['"text"', "[1]", "5", '{"\\u006b": 1}'])
def test_unusual_arguments_are_left_to_python(text):
    assert read([text], ("k", "int")) is None


def test_only_null_is_a_column_of_nulls():
    assert read(['{"k": null}', "{}"], ("k", "int")) == [[None, None]]


def test_the_first_of_several_keys_gives_the_value():
    text = b'{"ph":"X","args":{"external id":7,"External id":8}},{"ph":"X","args":{"external id":9}}'
    events = scanned(text)[0]
    reader = ArgumentReader("runtime_events", {"external_id": ("External id", "external id"), "correlation": ("correlation",)})
    columns = reader.scan(text, events.columns["arguments"], events.columns["arguments_length"])
    assert {name: series.to_list() for name, series in columns.items()} == {"external_id": [8, 9], "correlation": [None, None]}
    assert columns["correlation"].dtype == pl.Int64
