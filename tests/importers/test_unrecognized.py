"""Files that no format recognises, whole and truncated, packed and plain, and text that begins like
a Perfetto trace.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import pickle
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.importers.registry import FORMATS, detect_format
from torch_tb_profiler.importers.source import HEAD_BYTES
from torch_tb_profiler.importers.unrecognized import is_perfetto


def refusal_message(data: bytes, chunk_bytes: int = 1 << 16) -> str:
    chunks = (data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes))
    with pytest.raises(TraceFormatError) as error:
        import_trace(chunks, name="a file")
    assert error.value.code == "not_json"
    titles = ", ".join(each.title for each in FORMATS)
    assert error.value.hint == f"Supported formats: {titles}."
    return error.value.message


@pytest.fixture(scope="module", name="perfetto")
def perfetto_trace(corpus: Path) -> bytes:
    return (corpus / "pftrace" / "torch2141_synthetic_gpu.pftrace.gz").read_bytes()


def test_a_perfetto_head_cut_anywhere(perfetto: bytes) -> None:
    head = gzip.decompress(perfetto)[:HEAD_BYTES]
    for size in (*range(45, 400), HEAD_BYTES):
        assert is_perfetto(head[:size]), size


def test_a_perfetto_trace_may_be_damaged_behind_its_first_packets() -> None:
    packets = b"".join(b"\x0a" + bytes([len(text)]) + text for text in (b"*a", b"*bc", b"*d"))
    assert is_perfetto(packets + b"{broken")
    assert not is_perfetto(packets[:-4] + b"{broken")
    assert not is_perfetto(b"\n" * 36 + b'{"traceEvents": []}')


@pytest.mark.parametrize(
    "text",
    [b"\n", b"\nhello", b"\n\nhello world", b"\nname,start,dur\nmm,1,2\n" * 400],
)
def test_text_that_begins_with_a_line_break_is_not_perfetto(text: bytes) -> None:
    assert not is_perfetto(text)


@given(st.text(alphabet="\n\r\t abcxyz019,;:{}", max_size=300))
def test_lines_are_not_packets(text: str) -> None:
    whole = f"\n{text}\n"
    if is_perfetto(whole.encode()):  # then they happen to be some, one behind the other
        assert whole.encode()[2 + whole.encode()[1] :][:1] in (b"", b"\n")


def test_a_database_of_something_else(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "places.sqlite") as database:
        database.execute("CREATE TABLE moz_places (url TEXT)")
    data = (tmp_path / "places.sqlite").read_bytes()
    with pytest.raises(TraceFormatError) as error:
        import_trace(iter([data]), name="a file")
    assert error.value.code == "not_nsight"
    assert "is an SQLite database of another program, with the tables moz_places" in (
        error.value.message
    )
    assert "nsys export --type sqlite" in error.value.hint
    assert detect_format(data, "places.sqlite", True).reason == "not_nsight"


@pytest.mark.parametrize(
    ("data", "code", "text"),
    [
        (hashlib.shake_128(b"key").digest(8192), "encrypted_database", "it is encrypted"),
        (b"ERROR: no such report\n", "not_a_database", "is not an SQLite database"),
        (b"<!DOCTYPE html><html></html>", "html_page", "is a web page"),
        (b"", "empty_file", "is empty"),
    ],
)
def test_other_files_named_like_a_database(data: bytes, code: str, text: str) -> None:
    detection = detect_format(data, "run.sqlite", True)
    assert (detection.is_trace, detection.reason) == (False, code)
    with pytest.raises(TraceFormatError, match=text) as error:
        import_trace([data], name="run.sqlite")
    assert error.value.code == code


def test_a_pickle_and_a_table() -> None:
    with pytest.raises(TraceFormatError, match="is a memory snapshot without any memory"):
        import_trace(iter([pickle.dumps({"segments": []})]), name="a file")
    assert "is not JSON; it begins with b'Name,Calls,Total" in refusal_message(
        b"Name,Calls,Total\nmm,1,2\n"
    )


def test_white_space_before_a_trace_of_any_length() -> None:
    blank = b" \r\n\t" * 100_000
    text = blank + b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}]}'
    assert import_trace([text], name="x").strings == ["a"]
    chunks = (text[at : at + 1000] for at in range(0, len(text), 1000))
    assert import_trace(chunks, name="x").strings == ["a"]


@pytest.mark.parametrize(
    ("pack", "kind"),
    [
        (lzma.compress, "an xz archive"),
        (bz2.compress, "a bzip2 archive"),
        (lambda data: gzip.compress(gzip.compress(data)), "a gzip archive inside another"),
        (lambda data: gzip.compress(_tar(data)), "a tar archive"),
        (lambda data: data.decode().encode("utf-32"), "text in UTF-32"),
    ],
)
def test_other_packings_of_a_trace_are_named(pack: Callable[[bytes], bytes], kind: str) -> None:
    data = b'{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2}]}' * 20
    assert f"is {kind};" in refusal_message(pack(data))


def _tar(data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("trace.json")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
