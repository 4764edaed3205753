"""Files that are not traces are rejected with a code, their name and a next step."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from torch_tb_profiler.importers import TraceFormatError, import_trace

REJECTED = {
    b"": "empty_file",
    b"  \n\n": "empty_file",
    b"\xef\xbb\xbf": "empty_file",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n": "lfs_pointer",
    b"<!DOCTYPE html><html></html>": "html_page",
    b"<Error><Code>NoSuchKey</Code></Error>": "html_page",
    b"hello": "not_json",
    b"SQLite format 3\0rest": "damaged_database",
    b"\x80\x04\x95": "not_a_snapshot",
    b"PK\x03\x04": "not_json",
    b'"a string"': "not_json",
    b"\x1f\x8b": "gzip_unreadable",
    b"\x1f\x8bgarbage": "gzip_unreadable",
    b'{"loss": [1, 2]}': "not_a_trace",
    b'{"traceEvents": {}}': "not_a_trace",
    b"[1, 2, 3]": "not_a_trace",
    b"[]": "not_a_trace",
    b'{"schemaVersion": 1, "devicePr': "no_events",
}


@pytest.mark.parametrize(("data", "code"), REJECTED.items(), ids=lambda value: str(value)[:20])
def test_the_reason_is_named(data: bytes, code: str) -> None:
    with pytest.raises(TraceFormatError) as error:
        import_trace(iter([data]), name="some/file.json")

    assert error.value.code == code
    assert "some/file.json" in error.value.message
    assert error.value.hint


def test_the_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(TraceFormatError("a", "b", "c")))

    assert (error.code, error.message, error.hint, str(error)) == ("a", "b", "c", "b c")


def test_no_chunks_at_all() -> None:
    def nothing() -> Iterator[bytes]:
        yield from ()

    with pytest.raises(TraceFormatError):
        import_trace(nothing(), name="x")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("has_mark", [True, False])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_encodings_with_and_without_a_mark(encoding: str, has_mark: bool, size: int) -> None:
    text = (
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "é\U0001f600", "ts": 1, "dur": 2}]}'
    )
    mark = "\ufeff" if encoding == "utf-16-be" and has_mark else ""
    data = (mark + text).encode(encoding)
    if not has_mark and encoding != "utf-16-be":
        data = text.encode("utf-16-le" if encoding == "utf-16" else "utf-8")

    columns = import_trace((data[at : at + size] for at in range(0, len(data), size)), name="x")

    assert columns.strings[columns.tables["slices"]["name_code"][0]] == "é\U0001f600"
    assert columns.quality.counts == ({} if encoding == "utf-8-sig" else {"utf16": 1})


def test_white_space_before_the_text_may_come_byte_by_byte() -> None:
    event = b'{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}'
    chunks = [*[b" "] * 100_000, b'{"traceEvents": [', event, b"]}"]
    assert len(import_trace(chunks, name="x").tables["slices"]["start_ns"]) == 1
