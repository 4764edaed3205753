"""Counters of tracks: increments are added up until a reset, factors count, and those of a GPU are
its own, however their tracks are nested."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importers.pftrace.writer import event, message, packet, read_data, rows
from torch_tb_profiler.importers.registry import import_trace
from torch_tb_profiler.trace.build import build_trace

CLEARED, COUNTER = 1, 4


def described(uuid: int, name: str, *counter: tuple[int, int]) -> bytes:
    return packet((60, message((1, uuid), (2, name), (8, message(*counter)))))


def counted(at: int, uuid: int, value: int, sequence: int, flags: int = 0) -> bytes:
    return event(at, COUNTER, (11, uuid), (30, value), sequence=sequence, flags=flags)


@pytest.mark.parametrize("piece_bytes", [1, 40, 1 << 20])
def test_increments_are_added_up_until_their_sequence_is_reset(piece_bytes: int) -> None:
    data = described(40, "KiB", (4, 1024), (5, 1)) + described(41, "plain")
    data += counted(1, 40, 5, 5, CLEARED) + counted(2, 40, 3, 5)
    data += counted(3, 41, 7, 6, CLEARED)  # another sequence resets nothing of this one
    data += counted(4, 40, 1, 5) + counted(5, 40, 2, 5, CLEARED) + counted(6, 40, 4, 5)
    data += counted(7, 41, 9, 6)
    counters = rows(read_data(data, piece_bytes), "counters")
    values = {name: [each["value"] for each in counters if each["name_code"] == name]
              for name in ("KiB", "plain")}  # fmt: skip
    assert values == {"KiB": [5 * 1024, 8 * 1024, 9 * 1024, 2 * 1024, 6 * 1024], "plain": [7, 9]}


def test_factors_scale_values_that_are_no_increments() -> None:
    data = described(40, "MB", (4, 10**6)) + counted(1, 40, 5, 5) + counted(2, 40, 3, 5)
    assert [each["value"] for each in rows(read_data(data), "counters")] == [5e6, 3e6]


def nested(uuid: int, name: str, parent: int, *, is_counter: bool = False) -> bytes:
    counter = ((8, b""),) if is_counter else ()
    return packet((60, message((1, uuid), (2, name), (5, parent), *counter)))


@pytest.mark.parametrize(
    ("around", "process", "device"),
    [
        (("GPU 3 Counters",), "GPU 3 Counters", 3),
        (("GPU", "Counters", "2"), "GPU 2 Counters", 2),
        (("GPU", "Counters", "GPU 2"), "GPU 2 Counters", 2),
        (("GPU 1 Counters/Power (W)",), "GPU 1 Counters", 1),
        (("Counters", "4"), "", None),
        (("GPU x Counters",), "", None),
    ],
)
def test_counters_below_the_counters_of_a_gpu_are_its_own(
    around: tuple[str, ...], process: str, device: int | None
) -> None:
    data = b"".join(nested(50 + level, name, 49 + level) for level, name in enumerate(around))
    data += nested(70, "Power (W)", 49 + len(around), is_counter=True) + counted(5, 70, 300, 5)
    data += nested(71, "work", 49 + len(around)) + event(6, 1, (11, 71)) + event(7, 2, (11, 71))
    columns = read_data(data)
    (row,) = rows(columns, "counters")
    assert (row["track"][0], row["name_code"], row["value"]) == (process, "Power (W)", 300)
    trace = build_trace(columns)
    assert trace.tracks["device"].gather(trace.counters["track"]).to_list() == [device]


def test_a_cycle_of_parents_ends() -> None:
    data = nested(50, "a", 51) + nested(51, "b", 50, is_counter=True) + counted(5, 51, 1, 5)
    assert [row["name_code"] for row in rows(read_data(data), "counters")] == ["b"]


def test_counters_of_a_public_recording_are_those_of_gpu_0(corpus: Path) -> None:
    path = corpus / "pftrace" / "attention_gym" / "hello_world_training_loop_monitor.pftrace"
    trace = build_trace(import_trace([path.read_bytes()], name=path.name))
    joined = trace.counters.join(trace.tracks, on="track")
    assert joined["device"].unique().to_list() == [0]
    assert not joined["is_device"].any()
    assert joined.height == 16
