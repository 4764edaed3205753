"""Objects of Google Cloud Storage that are stored with ``Content-Encoding: gzip``.

The emulator does not unpack them as the real store does, so a stand-in answers here by the rules of
its documentation ("Transcoding of gzip-compressed files"): who does not accept gzip gets the object
unpacked, whole, whatever range is asked for; who does gets the stored bytes, by range, and the
header that makes HTTP clients unpack them.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from werkzeug.http import parse_range_header
from werkzeug.serving import make_server
from werkzeug.test import Client
from werkzeug.wrappers import Request, Response

from tests.helpers.opening import open_file
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.memory_budget import likely_text_bytes
from torch_tb_profiler.storage.locations import file_state, open_location, read_chunks

pytest.importorskip("gcsfs", reason="pip install '.[cloud-test]'")

Writer = Callable[..., Path]
API, MEDIA = "/storage/v1/b/bucket/o", "/download/storage/v1/b/bucket/o"


@dataclass
class TranscodingStore:
    """Objects of one bucket, each with its encoding; and what was asked for."""

    objects: dict[str, tuple[bytes, str | None]] = field(default_factory=dict)
    ranges: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Response:
        path = unquote(request.path)
        if path == API:
            prefix = request.args.get("prefix", "")
            names = [name for name in sorted(self.objects) if name.startswith(prefix)]
            items = [self.described(name) for name in names]
            return json_response(request, {"kind": "storage#objects", "items": items})
        base, _, name = path.partition("/o/")
        if name not in self.objects:
            return Response(status=404)
        if f"{base}/o" == API:
            return json_response(request, self.described(name))
        return self.bytes_of(name, request)

    def described(self, name: str) -> dict[str, str]:
        content, encoding = self.objects[name]
        told = {"name": name, "size": str(len(content)), "generation": "1", "bucket": "bucket"}
        return told if encoding is None else told | {"contentEncoding": encoding}

    def bytes_of(self, name: str, request: Request) -> Response:
        content, encoding = self.objects[name]
        if encoding == "gzip" and "gzip" not in request.headers.get("Accept-Encoding", ""):
            self.ranges.append("unpacked")
            return Response(gzip.decompress(content))
        headers = {} if encoding is None else {"Content-Encoding": encoding}
        asked = parse_range_header(request.headers.get("Range"))
        if asked is None:
            self.ranges.append("whole")
            return Response(content, headers=headers)
        start, end = asked.range_for_length(len(content)) or (0, 0)
        self.ranges.append(f"{start}-{end}")
        return Response(content[start:end], status=206, headers=headers)


def json_response(request: Request, value: object) -> Response:
    """As the store: descriptions are packed for who accepts it."""
    data = json.dumps(value).encode()
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        headers = {"Content-Encoding": "gzip"}
        return Response(gzip.compress(data), content_type="application/json", headers=headers)
    return Response(data, content_type="application/json")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[TranscodingStore]:
    answering = TranscodingStore()
    server = make_server("127.0.0.1", 0, Request.application(answering), threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.port}")
    yield answering
    server.shutdown()


@pytest.mark.parametrize("encoding", ["gzip", None])
def test_stored_bytes_are_read_by_range(store: TranscodingStore, encoding: str | None) -> None:
    stored = gzip.compress(bytes(i * i % 251 for i in range(20_000)))
    store.objects["a b/x.bin"] = (stored, encoding)
    location = open_location("gs://bucket/a b/x.bin")
    assert file_state(location).size_bytes == len(stored)
    assert b"".join(read_chunks(location, chunk_bytes=1000)) == stored
    assert len(store.ranges) == -(-len(stored) // 1000)
    assert not {"unpacked", "whole"} & set(store.ranges)


@pytest.mark.parametrize("name", ["w.1.pt.trace.json", "w.1.pt.trace.json.gz"])
def test_a_trace_that_is_stored_packed_is_opened(
    store: TranscodingStore, tmp_path: Path, write_trace: Writer, name: str
) -> None:
    text = write_trace(tmp_path / "w.json", ("a", "b", "c") * 500).read_bytes()
    store.objects[f"run/{name}"] = (gzip.compress(text), "gzip")
    (file,) = Catalog([TraceRoot("gs://bucket/run")], cache=None).contents().files()
    done: list[int] = []
    trace = open_file(file.location, cache=None, progress=lambda read, _: done.append(read))
    assert trace.slices.height == 1500
    assert trace.quality.counts == {"no_steps": 1}
    assert likely_text_bytes(file.location, file.state) > 5 * file.state.size_bytes
    assert done[-1] == file.state.size_bytes == len(store.objects[f"run/{name}"][0])


def test_the_stand_in_unpacks_for_who_does_not_accept_gzip(store: TranscodingStore) -> None:
    store.objects["x"] = (gzip.compress(b"text"), "gzip")
    media = f"{MEDIA}/{quote('x')}?alt=media"
    assert (
        Client(Request.application(store)).get(media, headers={"Range": "bytes=1-2"}).data
        == b"text"
    )
