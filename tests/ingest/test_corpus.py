"""Every file of the fuzzer's corpus, which holds what once failed, is read or refused cleanly."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
specification = importlib.util.spec_from_file_location("fuzz_ingest", FUZZ / "fuzz_ingest.py")
assert specification is not None
assert specification.loader is not None
fuzz_ingest = importlib.util.module_from_spec(specification)
specification.loader.exec_module(fuzz_ingest)


@pytest.mark.parametrize("name", sorted(path.name for path in (FUZZ / "corpus").iterdir()))
def test_the_corpus_is_read_or_refused(tmp_path, name):
    fuzz_ingest.check((FUZZ / "corpus" / name).read_bytes(), tmp_path)
