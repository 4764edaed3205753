"""A file read by byte ranges equals its text read as a stream: whole, damaged and cut short, in
pieces of any size, and with data behind the events. A file that changes or goes meanwhile is
noticed."""

from __future__ import annotations

import errno
import gzip
import json
import pickle
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.importers.kineto.reference import actual, assert_same_columns, chunks_of
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.importers.kineto.file_pieces import FilePieces, is_plain_text
from torch_tb_profiler.importers.kineto.reader import read_file

ROOT = Path(__file__).resolve().parents[3]
DAMAGED = sorted(
    path
    for folder in ("malformed_derived", "torch213_malformed")
    for path in (ROOT / "tests" / "data" / folder).iterdir()
    if path.name != "manifest.json" and is_plain_text(str(path))
)


@pytest.fixture(scope="module", name="text")
def sample_text(samples: Path) -> bytes:
    packed = samples / "kineto_resnet50_nw0" / "worker0.1623143089861.pt.trace.json.gz"
    return gzip.decompress(packed.read_bytes())[:2_000_000]


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.name)
def test_a_damaged_file_is_read_as_its_text(path: Path) -> None:
    wanted = import_trace(chunks_of(path.read_bytes()), name="x")
    columns = read_file(str(path), name="x")
    assert_same_columns(columns, wanted)


@examples(60)
@given(
    piece_bytes=st.integers(1, 3000),
    names=st.lists(st.sampled_from(["a", '"}, {"ph": "X"', "]}", "é" * 40]), max_size=30),
    tail=st.sampled_from(["]}", "]", "", "],", '], "distributedInfo": {"rank": 3}}', "]}\x00\x00"]),
)
def test_pieces_of_any_size_give_the_same_events(
    tmp_path_factory: pytest.TempPathFactory, piece_bytes: int, names: list[str], tail: str
) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 9 * at, "dur": 5}
        for at, name in enumerate(names)
    ]
    path = tmp_path_factory.getbasetemp() / "pieces.json"
    text = ' \n{"traceEvents": [' + json.dumps(events)[1:-1] + tail
    path.write_text(text, encoding="utf-8")
    columns = read_file(str(path), name="x", piece_bytes=piece_bytes)
    assert [row[1] for row in actual(columns)["slices"]] == names


def test_pieces_cover_the_file_without_gap(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "whole.json"
    path.write_bytes(text)
    pieces = FilePieces(str(path), 100_000)
    header, file_pieces = pieces.header, list(pieces)
    assert len(file_pieces) == pytest.approx(len(text) / 100_000, rel=0.1)
    assert file_pieces[0].start == len(header)
    assert file_pieces[-1].end == len(text)
    assert [piece.is_last for piece in file_pieces] == [False] * (len(file_pieces) - 1) + [True]
    for before, after in pairwise(file_pieces):
        between = text[before.end : after.start]
        assert between.strip(b" \n,") == b""
        assert text[before.end - 1 : before.end] == b"}"
        assert text[after.start : after.start + 1] == b"{"
    assert pickle.loads(pickle.dumps(file_pieces)) == file_pieces


def test_a_long_event_is_one_piece(tmp_path: Path) -> None:
    long = json.dumps({"ph": "X", "name": "x" * 300_000, "pid": 1, "tid": 1, "ts": 1, "dur": 1})
    short = json.dumps({"ph": "X", "name": "s", "pid": 1, "tid": 1, "ts": 1, "dur": 1})
    path = tmp_path / "long.json"
    path.write_text("[" + ", ".join([short, long, short, short]) + "]", encoding="utf-8")
    columns = read_file(str(path), name="x", piece_bytes=1000)
    assert [len(row[1]) for row in actual(columns)["slices"]] == [1, 1 << 18, 1, 1]


def test_other_encodings_are_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    for data in (gzip.compress(b"[]"), "[]".encode("utf-16"), b"\xef\xbb\xbf[]", b""):
        path.write_bytes(data)
        assert not is_plain_text(str(path))


def test_a_file_that_was_truncated_meanwhile_is_read_to_its_end(
    tmp_path: Path, text: bytes
) -> None:
    path = tmp_path / "whole.json"
    path.write_bytes(text)
    first, *_, last = list(FilePieces(str(path), 100_000))
    path.write_bytes(text[: first.end - 10])
    assert first.read().text == b"[" + text[first.start : first.end - 10] + b"]"
    assert last.read().text == b""
    path.unlink()
    with pytest.raises(FileNotFoundError):
        first.read()


def test_a_replaced_file_is_not_read(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "whole.json"
    path.write_bytes(text)
    first, *_ = list(FilePieces(str(path), 100_000))
    (tmp_path / "other.json").write_bytes(text)
    (tmp_path / "other.json").replace(path)
    with pytest.raises(OSError, match="replaced") as raised:
        first.read()
    assert raised.value.errno == errno.ESTALE
