"""Just enough of S3 and of Google Cloud Storage to list and read a folder's files, on this machine."""

from __future__ import annotations

import http.server
import json
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from pathlib import Path


class Store(http.server.BaseHTTPRequestHandler):
    """Files of `folder` as the objects of bucket `traces`."""

    folder: ClassVar[Path]

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        parts = unquote(address.path).split("/")
        if "storage" in parts:
            self.google(parts, query)
        else:
            self.amazon("/".join(parts[2:]), query)

    def amazon(self, key: str, query: dict[str, str]) -> None:
        if not key:
            rows = [
                f'<Contents><Key>{escape(name)}</Key><Size>{len(data)}</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"{name}"</ETag></Contents>'
                for name, data in self.under(query.get("prefix", "")).items()
            ]
            text = f'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated><KeyCount>{len(rows)}</KeyCount>{"".join(rows)}</ListBucketResult>'
            self.send(200, text.encode(), "application/xml")
        else:
            self.file(key)

    def google(self, parts: list[str], query: dict[str, str]) -> None:
        key = "/".join(parts[parts.index("o") + 1 :]) if "o" in parts else ""
        if "download" in parts or query.get("alt") == "media":
            self.file(key)
        elif key:
            found = self.under(key).get(key)
            self.send(*((200, json.dumps(self.described(key, found)).encode()) if found is not None else (404, b"{}")))
        else:
            items = [self.described(name, data) for name, data in self.under(query.get("prefix", "")).items()]
            self.send(200, json.dumps({"kind": "storage#objects", "items": items}).encode())

    def described(self, name: str, data: bytes) -> dict[str, str]:
        link = f"http://{self.headers['Host']}/download/storage/v1/b/traces/o/{name}?alt=media"
        return {
            "name": name,
            "bucket": "traces",
            "size": str(len(data)),
            "mediaLink": link,
            "updated": "2026-01-01T00:00:00Z",
            "generation": "1",
        }

    def under(self, prefix: str) -> dict[str, bytes]:
        files = {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }
        return {name: data for name, data in files.items() if name.startswith(prefix)}

    def file(self, key: str) -> None:
        data = self.under(key).get(key)
        if data is None:
            self.send(404, b"")
            return
        wanted = self.headers.get("Range")
        if wanted:
            first, last = wanted.removeprefix("bytes=").split("-")
            data = data[int(first) : int(last) + 1 if last else None]
        self.send(206 if wanted else 200, data, "application/octet-stream")

    def send(self, status: int, data: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
