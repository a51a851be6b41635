"""Traces in S3 and Google Cloud Storage, by the usual drivers against a store on this machine."""

from __future__ import annotations

import http.server
import threading

import pytest

from analyze.errors import InputError
from analyze.ingest import read
from tests.ingest.object_stores import Store
from tests.ingest.traces import kernel, text, write

DRIVERS = {"s3": "s3fs", "gs": "gcsfs"}
# the drivers' own: event loops and sessions that live until the process ends
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.parametrize("protocol", sorted(DRIVERS))]


@pytest.fixture
def bucket(tmp_path, monkeypatch, protocol):
    pytest.importorskip(DRIVERS[protocol], reason=f"{protocol} needs the extra `remote`")
    folder = tmp_path / "bucket"
    (folder / "run").mkdir(parents=True)
    handler = type("Here", (Store,), {"folder": folder})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        yield folder
        server.shutdown()


def test_a_file_and_a_folder_are_read(bucket, protocol):
    write(bucket / "run" / "rank0.json.gz", text(kernel()))
    write(bucket / "run" / "rank1.json", text(kernel(), kernel()))
    (one,) = read(f"{protocol}://traces/run/rank1.json", cache=False).traces
    assert (one.info.event_count, one.rank) == (2, 1)
    assert [trace.rank for trace in read(f"{protocol}://traces/run", cache=False).traces] == [0, 1]


def test_a_missing_object_is_named(bucket, protocol):
    with pytest.raises(InputError, match=rf"^{protocol}://traces/none\.json: "):
        read(f"{protocol}://traces/none.json", cache=False)
