"""Damaged and hostile profiles: what is whole is read, what is not is counted, and nothing takes
long."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest

from tests.helpers import xplane as xp
from tests.importers.protobuf.encode import field, message, varint
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns

WHOLE = xp.tpu_file(devices=1)
NAME = "host.xplane.pb"


def read(data: bytes) -> EventColumns:
    return import_trace([data], name=NAME)


def names(columns: EventColumns) -> list[str]:
    return [columns.strings[code] for code in columns.tables["slices"]["name_code"]]


def test_a_file_that_ends_early_is_read_to_there() -> None:
    host = xp.space(xp.host_plane())
    columns = read(host + WHOLE[: len(WHOLE) // 2])
    assert columns.quality.counts["truncated"]
    assert set(names(read(host))) - {"train#5"} <= set(names(columns))


def test_events_of_a_plane_that_is_cut_have_no_names_and_are_no_kernels_by_guess() -> None:
    plane = xp.tpu_plane().message.SerializeToString()
    lines = sum(1 + len(varint(each.ByteSize())) + each.ByteSize()
                for each in xp.tpu_plane().message.lines)  # fmt: skip
    at = len(field(2, "/device:TPU:0")) + lines
    columns = read(field(1, plane)[: at + 4])
    assert columns.quality.counts["missing_name"]
    assert {name[:6] for name in names(columns) if name.startswith("event")} == {"event "}


def test_cuts_and_bit_flips_end_in_columns_or_a_reason() -> None:
    numbers = random.Random(7)
    for _ in range(150):
        data = bytearray(WHOLE)
        for _ in range(numbers.randint(1, 8)):
            data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
        cut = bytes(data[: numbers.choice((len(data), numbers.randrange(len(data))))])
        with suppress(TraceFormatError):
            build_trace(read(cut))


def test_names_of_a_megabyte_are_cut() -> None:
    long = "n" * 1_000_000
    event = xp.Event(long, 0, 1000, {"note": long}, {"tf_op": long})
    plane = xp.PlaneWriter("/device:TPU:0", [xp.Line("XLA Ops", [event])])
    columns = read(xp.space(plane))
    assert columns.quality.counts["text_cut"]
    assert max(map(len, columns.strings)) <= 262_144


HUGE = b"\xff" * 9 + b"\x01"
LONG = b"\xff" * 20


def plane(*lines: bytes, name: str = "/device:TPU:0") -> bytes:
    return field(1, message((2, name), *((3, line) for line in lines)))


@pytest.mark.parametrize(
    "event",
    [
        b"\x08\x01\x10" + HUGE + b"\x18\x05",  # offset -1
        b"\x08\x01\x10\x05\x18" + HUGE,  # duration -1
        b"\x08\x01\x10" + varint(2**62) + b"\x18" + varint(2**62),
        b"\x08" + LONG,
        b"\x08\x01\x22\x7f",
        b"\x07\x07\x07",
        message((1, 1), (2, 5), (3, 9), (4, b"\x08" + LONG)),
    ],
)
def test_impossible_numbers_of_events(event: bytes) -> None:
    good = message((1, 1), (2, 5000), (3, 9000))
    columns = read(plane(message((2, "XLA Ops"), (4, good), (4, event), (4, good))))
    assert len(columns.tables["slices"]["start_ns"]) >= 2
    assert (columns.tables["slices"]["dur_ns"] >= 0).all()
    build_trace(columns)


def test_a_number_of_occurrences_is_no_event() -> None:
    events = [xp.Event("a", 0, 1000), xp.Event("b", 0, 0, occurrences=5)]
    columns = read(xp.space(xp.PlaneWriter("/host:CPU", [xp.Line("t", events, 1)])))
    assert names(columns) == ["a"]
    assert columns.quality.counts["xplane_sums"] == 1


HOSTILE = {
    "empty planes": field(1, b"") * 500_000 + WHOLE,
    "small planes": field(1, field(2, "/device:TPU:0")) * 20_000 + WHOLE,
    "empty lines": plane(*[b""] * 200_000) + WHOLE,
    "lines of one event": plane(*[message((1, n), (4, b"\x08\x01\x18\x05")) for n in range(5_000)]),
    "values of one event": plane(
        message((2, "XLA Ops"), (4, message((1, 1), (3, 5)) + field(4, b"\x08\x01 \x01") * 300_000))
    ),
    "metadata that names itself": field(
        1,
        message((2, "/device:TPU:0"), (3, message((2, "XLA Ops"), (4, b"\x08\x01\x18\x05"))),
                (4, message((1, 1), (2, message((1, 1), (2, "a")) + field(6, 1) * 50_000)))),
    ),
    "long path": xp.space(xp.PlaneWriter("/device:TPU:0", [xp.Line("XLA Ops", [
        xp.hlo("a.1", "x", (0, 5000), "/".join(["s"] * 100_000))
    ])])),
    "wide numbers": plane(message((1, 2**63), (2, "XLA Ops"), (3, 2**63 - 1),
                                  (4, message((1, 2**62), (2, 5), (3, 9)))))[:10_000],
}  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_take_seconds_at_most(data: bytes) -> None:
    start = time.process_time()
    with suppress(TraceFormatError):
        build_trace(read(data))
    assert time.process_time() - start < 15
