"""Packets, sequences, tracks, arguments and GPUs of synthetic files, over pieces of any size."""

from __future__ import annotations

from typing import Any

import pytest

from tests.importers.pftrace.writer import (
    TRACKS,
    Fields,
    annotation,
    begin,
    end,
    event,
    field,
    interned,
    message,
    packet,
    process,
    read_data,
    rows,
    slices,
)
from torch_tb_profiler.importers.errors import TraceFormatError

SIZES = pytest.mark.parametrize("piece_bytes", [1, 200, 1 << 20])


def resets(*entries: Fields, sequence: int = 1) -> bytes:
    return packet((13, 1), (12, message(*entries)), sequence=sequence)


def named(at: int, kind: int, iid: int, sequence: int = 1) -> bytes:
    return event(at, kind, (11, 2), (10, iid), sequence=sequence, flags=2)


@SIZES
def test_names_are_those_of_their_sequence_since_its_reset(piece_bytes: int) -> None:
    data = TRACKS + resets(*interned(2, {1: "one"})) + resets(*interned(2, {1: "two"}), sequence=9)
    for sequence, at in ((1, 10), (9, 20)):
        data += named(at, 1, 1, sequence) + named(at + 1, 2, 1, sequence)
    data += packet((12, message(*interned(2, {2: "added"})))) + named(30, 1, 2) + named(31, 2, 2)
    data += resets(*interned(2, {1: "anew"})) + named(40, 1, 1) + named(41, 2, 1)
    data += named(50, 1, 2) + named(51, 2, 2)
    columns = read_data(data, piece_bytes)
    assert [name for name, _, _ in slices(columns)] == ["one", "two", "added", "anew", "(unnamed)"]
    assert columns.quality.counts["missing_name"] == 1
    assert columns.quality.counts["interned_missing"] >= 1


@SIZES
def test_events_after_a_loss_are_dropped_until_the_reset(piece_bytes: int) -> None:
    data = TRACKS + named(1, 1, 1) + named(2, 2, 1)  # nothing was said yet
    data += resets(*interned(2, {1: "one"})) + named(10, 1, 1) + named(11, 2, 1)
    data += packet((42, 1)) + named(20, 1, 1) + named(21, 2, 1)
    data += begin(30, "in place") + end(31)
    data += resets(*interned(2, {1: "anew"})) + named(40, 1, 1) + named(41, 2, 1)
    columns = read_data(data, piece_bytes)
    assert slices(columns) == [("one", 10, 1), ("in place", 30, 1), ("anew", 40, 1)]
    assert columns.quality.counts["state_lost"] == 4


@SIZES
def test_the_default_track_is_that_of_the_sequence(piece_bytes: int) -> None:
    data = TRACKS + packet((13, 1), (59, message((11, message((11, 3))))))
    data += event(1, 1, (23, "default"), flags=2) + event(2, 2, flags=2)
    data += begin(3, "named") + end(4)
    data += event(5, 1, (23, "nowhere"), sequence=8) + event(6, 2, sequence=8)
    tracks = [row["track"] for row in rows(read_data(data, piece_bytes), "slices")]
    assert tracks == [("77", "79"), ("77", "78"), ("", "sequence 8")]


def test_tracks_belong_to_the_process_above_them() -> None:
    child = packet((60, message((1, 10), (5, 11), (2, "lane"))))
    parent = packet((60, message((1, 11), (5, 1), (2, "above"))))
    circle = packet((60, message((1, 20), (5, 21)))) + packet((60, message((1, 21), (5, 20))))
    data = TRACKS + child + parent + circle
    for track in (10, 20, 99):
        data += begin(track, "op", track=track) + end(track + 1, track=track)
    tracks = read_data(data).tracks
    assert [(one.pid, one.tid) for one in tracks] == [
        ("77", "lane"),
        ("", "track 20"),
        ("", "track 99"),
    ]
    assert (tracks[0].process_name, tracks[0].thread_name) == ("python", "lane")


@pytest.mark.parametrize(
    ("key", "value", "table", "column", "expected"),
    [
        ("Input Dims", [[2, 3], [], [[4]]], "operator", "input_shape_code", "[[2, 3], [], [[4]]]"),
        ("Input Dims", [], "operator", "input_shape_code", "[]"),
        ("Input type", ["float", ""], "operator", "input_type_code", "['float', '']"),
        ("Sequence number", 5, "operator", "sequence_number", 5),
        ("Fwd thread id", "7", "operator", "forward_thread", 7),
        ("Call stack", "a.py(1): f;b: g; ", "operator", "call_stack_code", "a.py(1): f;b: g"),
        ("Collective name", "allreduce", "collective", "collective_code", "allreduce"),
        ("Process Group Name", 3, "collective", "group_code", "3"),
        ("External id", -5, "slices", "external_id", -5),
        ("External id", 2.0, "slices", "external_id", 2),
        ("Is asynchronized op", True, "collective", "is_async", None),
    ],
)  # fmt: skip
def test_arguments_are_those_of_json(
    key: str, value: Any, table: str, column: str, expected: Any
) -> None:
    given = annotation(key, value), annotation("Ev Idx", 3)
    data = TRACKS + begin(1, "aten::mm", (22, "cpu_op"), *given) + end(5)
    details = rows(read_data(data), table)
    assert [row[column] for row in details] == ([] if expected is None else [expected])


@SIZES
def test_names_and_values_of_arguments_may_be_interned(piece_bytes: int) -> None:
    texts = [
        *interned(3, {1: "Collective name", 2: "corr_id", 3: "no one"}),
        *interned(29, {7: "allreduce"}),
    ]
    data = TRACKS + resets(*texts, *interned(1, {1: "user_annotation"}), *interned(2, {1: "nccl"}))
    given = [message((1, 1), (17, 7)), message((1, 2), (3, 12)), message((1, 3), (6, "x"))]
    data += event(1, 1, (11, 2), (10, 1), (3, 1), *((4, one) for one in given), flags=2) + end(2)
    columns = read_data(data, piece_bytes)
    assert rows(columns, "collective")[0]["collective_code"] == "allreduce"
    assert rows(columns, "slices")[0]["correlation"] == 12
    assert "x" not in columns.strings


def test_implausible_numbers_are_null() -> None:
    given = annotation("In msg nelems", 2**62), annotation("Group size", "many")
    data = TRACKS + begin(1, "nccl", (22, "cpu_op"), annotation("Collective name", "x"), *given)
    columns = read_data(data + end(2))
    collective = rows(columns, "collective")[0]
    assert (collective["in_nelems"], collective["group_size"]) == (None, None)
    assert columns.quality.counts == {"argument_value": 2}


def test_counters_of_the_program_have_the_name_of_their_track() -> None:
    track = packet((60, message((1, 50), (5, 1), (2, "bytes"), (8, b""))))
    data = TRACKS + track + event(5, 4, (11, 50), (30, 7)) + event(6, 4, (11, 50), (44, 2.5))
    counters = rows(read_data(data), "counters")
    assert [(row["name_code"], row["time_ns"], row["value"]) for row in counters] == [
        ("bytes", 5, 7.0),
        ("bytes", 6, 2.5),
    ]


def test_memory_events_that_are_slices_are_memory() -> None:
    given = [
        annotation(key, value) for key, value in (("Bytes", 64), ("Device Type", 1), ("Addr", 9))
    ]
    data = TRACKS + begin(4, "[memory]", (22, "cpu_instant_event"), *given) + end(4)
    data += begin(5, "mark", (22, "cpu_instant_event")) + end(5)
    data += begin(6, "op", (22, "cpu_op")) + end(8)
    columns = read_data(data)
    assert slices(columns) == [("op", 6, 2)]
    memory = rows(columns, "memory")[0]
    assert (memory["bytes"], memory["device_type"], memory["address"], memory["time_ns"]) == (
        64,
        1,
        9,
        4,
    )
    assert [row["name_code"] for row in rows(columns, "instants")] == ["mark"]


def test_command_lines_and_other_secrets_are_in_no_text() -> None:
    secret = "hunter2"
    hidden = process(1, 77, "python", (3, message((2, secret), (9, secret))))
    data = hidden + TRACKS + begin(1, "op", annotation("environment", secret)) + end(2)
    data += packet((33, secret)) + packet((35, message((1, secret))))
    columns = read_data(data)
    assert secret not in repr((columns.strings, columns.tracks, columns.info))


def test_a_trace_without_supported_data_is_rejected() -> None:
    with pytest.raises(TraceFormatError, match="without supported data") as error:
        read_data(TRACKS)
    assert error.value.code == "not_a_trace"
    with pytest.raises(TraceFormatError) as error:
        read_data(field(1, b"x" * 50)[:20])
    assert error.value.code == "truncated"


def test_ids_of_collectives_are_read_from_arguments() -> None:
    given = {"Collective name": "allreduce", "Seq": 5, "Comms Id": 2**64 - 3}
    data = TRACKS + begin(1, "record_param_comms", *(annotation(*each) for each in given.items()))
    (row,) = rows(read_data(data + end(2)), "collective")
    assert (row["sequence"], row["comms_id"]) == (5, -3)
