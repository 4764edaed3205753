"""Damaged files: everything before the damage is read, and only format errors are raised."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from tests.importers.pftrace.writer import TRACKS, begin, end, field, packet, read_data, slices
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.importers.registry import trace_names

DATA = Path(__file__).resolve().parents[2] / "data" / "pftrace" / "cpu.pftrace.gz"
WHOLE = TRACKS + b"".join(begin(at, f"op {at}") + end(at + 5) for at in range(10, 100, 10))


@pytest.mark.parametrize("chunk_bytes", [1, 50, 1 << 16])
def test_a_truncated_file_is_read_to_its_end(chunk_bytes: int) -> None:
    whole = slices(read_data(WHOLE))
    for cut in range(len(WHOLE) - 60, len(WHOLE), 7):
        columns = read_data(WHOLE[:cut], piece_bytes=64, chunk_bytes=chunk_bytes)
        assert columns.quality.counts["truncated"] == 1
        assert slices(columns)[:-1] == whole[: len(slices(columns)) - 1]


def test_nothing_is_read_after_something_else_than_a_packet() -> None:
    columns = read_data(
        WHOLE + b"\x12\x05junk." + begin(500, "behind"), piece_bytes=64, chunk_bytes=9
    )
    assert slices(columns) == slices(read_data(WHOLE))
    assert columns.quality.counts["truncated"] == 1


def test_a_length_beyond_the_file_ends_it() -> None:
    columns = read_data(WHOLE + b"\x0a\xff\xff\xff\xff\x7f" + b"x" * 500, piece_bytes=64)
    assert slices(columns) == slices(read_data(WHOLE))


def test_broken_messages_are_counted_and_the_rest_is_read() -> None:
    broken = packet((8, 3), (11, b"\x48\x01\x22\xff")) + packet((8, 4), (11, b"\x0b"))
    columns = read_data(TRACKS + broken + begin(1, "op") + end(2))
    assert ("op", 1, 1) in slices(columns)
    assert columns.quality.counts["broken_message"] == 2


def test_many_tracks_are_no_trouble() -> None:
    count = 3000
    data = b"".join(field(1, field(60, field(1, n) + field(2, f"t{n}"))) for n in range(1, count))
    data += b"".join(begin(n, "op", track=n) + end(n + 1, track=n) for n in range(1, count))
    columns = read_data(data)
    assert len(columns.tracks) == count - 1
    assert {duration for _, _, duration in slices(columns)} == {1}


def test_random_damage_raises_only_format_errors() -> None:
    source = random.Random(7)
    whole = TRACKS + WHOLE
    for _ in range(80):
        data = bytearray(whole)
        for _ in range(source.choice([1, 3, 20])):
            data[source.randrange(len(TRACKS), len(data))] = source.randrange(256)
        with suppress(TraceFormatError):
            read_data(bytes(data), piece_bytes=source.choice([64, 1 << 16]))


def test_a_packed_file_may_be_cut() -> None:
    data = DATA.read_bytes()
    columns = import_trace([data[: len(data) // 2]], name="cut")
    assert columns.quality.counts["gzip_truncated"] == 1
    assert columns.tables["slices"]["dur_ns"].min() >= 0


@pytest.mark.parametrize(
    ("name", "worker", "stamp"),
    [
        ("host_12.1699999.pftrace.gz", "host_12", "1699999"),
        ("host_12.1699999.pt.trace.pftrace", "host_12", "1699999"),
        ("rank0.pftrace", "rank0", None),
        ("123_results.pftrace", "123_results", None),
        ("a.pt.pftrace.gz", "a", None),
        ("chrome.perfetto-trace", "chrome", None),
    ],
)
def test_names_have_worker_and_stamp(name: str, worker: str, stamp: str | None) -> None:
    match = trace_names().parse_file(name)
    assert match is not None
    assert (match.worker, match.stamp, match.format) == (worker, stamp, "pftrace")
