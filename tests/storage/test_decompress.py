"""Decompression: gzip under any name, whole, cut, damaged, in several members; plain as is."""

from __future__ import annotations

import gzip
import random
import threading
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_tb_profiler.storage.decompress import (
    MEMBER_BYTES,
    OUTPUT_BYTES,
    RATIO_FROM_BYTES,
    RATIO_VARIABLE,
    SIZE_VARIABLE,
    UnpackLimitError,
    UnpackLimits,
    decompressed,
    in_background,
)

TEXT = b"".join(b"%d," % number for number in range(50_000))


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_gzip_is_recognised_by_its_bytes(size: int) -> None:
    issues: list[str] = []
    data = gzip.compress(TEXT[:20_000]) + gzip.compress(TEXT[20_000:]) + b"\0" * 10

    assert b"".join(decompressed(_pieces(data, size), issues.append)) == TEXT
    assert issues == []


def test_members_and_blanks_of_any_length_are_unpacked_in_turn() -> None:
    issues: list[str] = []
    long = random.Random(0).randbytes(3 * MEMBER_BYTES)
    members = [b"a", b"", long, b"b", long, b"c"]
    data = (b"\0" * (2 * MEMBER_BYTES + 5)).join(map(gzip.compress, members))

    for size in (1000, len(data)):
        assert b"".join(decompressed(_pieces(data, size), issues.append)) == b"".join(members)
    assert issues == []


def test_the_rest_of_the_file_is_not_copied_for_each_of_many_members() -> None:
    """A megabyte, fifty thousand times, would be told by the time that the suite takes."""
    data = gzip.compress(b" ") * 50_000

    assert sum(map(len, decompressed([data]))) == 50_000


@given(st.binary(max_size=50).filter(lambda data: not data.startswith(b"\x1f\x8b")))
def test_plain_bytes_pass(data: bytes) -> None:
    assert b"".join(decompressed(_pieces(data, 3))) == data


@given(st.integers(2, len(gzip.compress(TEXT)) - 1))
def test_a_cut_stream_gives_its_beginning(cut: int) -> None:
    issues: list[str] = []

    found = b"".join(decompressed([gzip.compress(TEXT)[:cut]], issues.append))

    assert TEXT.startswith(found)
    assert issues == ["gzip_truncated"]


def test_a_damaged_stream_gives_what_stands_before() -> None:
    issues: list[str] = []
    data = bytearray(gzip.compress(TEXT))
    data[-6] ^= 0xFF

    found = b"".join(decompressed([bytes(data)], issues.append))

    assert TEXT.startswith(found)
    assert issues == ["gzip_corrupt"]


def test_other_bytes_after_the_stream_are_reported() -> None:
    issues: list[str] = []

    assert b"".join(decompressed([gzip.compress(b"a") + b"junk"], issues.append)) == b"a"
    assert issues == ["gzip_corrupt"]


def test_pieces_are_bounded_whatever_the_ratio() -> None:
    bomb = gzip.compress(b"\0" * (20 * OUTPUT_BYTES))

    sizes = [len(piece) for piece in decompressed([bomb])]

    assert sum(sizes) == 20 * OUTPUT_BYTES
    assert max(sizes) <= OUTPUT_BYTES


def test_background_keeps_order_and_raises_here() -> None:
    def source() -> Iterator[bytes]:
        yield from (b"%d" % number for number in range(100))
        raise OSError("gone")

    seen: list[bytes] = []
    with pytest.raises(OSError, match="gone"):
        seen.extend(in_background(source(), depth=2))
    assert not seen or seen[0] == b"0"

    assert list(in_background((b"%d" % n for n in range(100)), depth=2)) == [
        b"%d" % n for n in range(100)
    ]


def test_a_reader_that_stops_early_ends_the_thread() -> None:
    before = threading.active_count()
    reader = in_background((b"x" for _ in range(10**9)), depth=2)

    assert next(reader) == b"x"
    reader.close()

    assert threading.active_count() == before


def test_a_bomb_is_refused_before_it_fills_the_memory() -> None:
    bomb = gzip.compress(b'{"traceEvents":[' + b" " * (RATIO_FROM_BYTES + (8 << 20)), 9)
    pieces = decompressed([bomb], limits=UnpackLimits())
    allowed = RATIO_FROM_BYTES // OUTPUT_BYTES
    assert sum(map(len, islice(pieces, allowed))) == RATIO_FROM_BYTES

    with pytest.raises(UnpackLimitError, match="200 times its size") as error:
        next(pieces)

    assert RATIO_VARIABLE in error.value.hint


def test_the_whole_size_is_limited_too() -> None:
    limits = UnpackLimits(max_bytes=100_000)

    with pytest.raises(UnpackLimitError, match=r"more than 0\.0001 GB"):
        list(decompressed([gzip.compress(TEXT)], limits=limits))
    assert b"".join(decompressed([TEXT], limits=limits)) == TEXT, "what is not packed is no bomb"


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RATIO_VARIABLE, "1100")
    monkeypatch.setenv(SIZE_VARIABLE, "0.5")
    assert UnpackLimits.from_environment() == UnpackLimits(1100, 5e8)

    for odd in ("", "none", "-1", "nan"):
        monkeypatch.setenv(RATIO_VARIABLE, odd)
        monkeypatch.setenv(SIZE_VARIABLE, odd)
        assert UnpackLimits.from_environment() == UnpackLimits()
