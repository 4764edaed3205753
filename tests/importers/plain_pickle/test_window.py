"""Pickles without their frames: pickletools is the reference for opcodes."""

from __future__ import annotations

import pickle
import pickletools
import random
from typing import Any

import pytest

from tests.helpers.snapshots import simulated
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow, unframed


def without_frames(data: bytes) -> bytes:
    """All opcodes but FRAME, as pickletools finds them."""
    opcodes = [(opcode.name, at or 0) for opcode, _, at in pickletools.genops(data)]
    ends = [at for _, at in opcodes[1:]] + [len(data)]
    return b"".join(
        data[at:end] for (name, at), end in zip(opcodes, ends, strict=True) if name != "FRAME"
    )


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        parts.append(data[at : at + sizes[len(parts) % len(sizes)]])
        at += len(parts[-1])
    return parts


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("sizes", [[10**7], [1, 70_000, 3], [65_541, 9, 8], [5]])
def test_frames_are_removed_wherever_they_occur(protocol: int, sizes: list[int]) -> None:
    data = pickle.dumps(simulated(1, events=3000)[0], protocol)
    expected = without_frames(data)
    assert (len(data) - len(expected) >= 3 * 9) == (protocol >= 4)
    assert b"".join(unframed(pieces(data, sizes))) == expected


@pytest.mark.parametrize(
    "value", [1, "x", ["y" * 100_000, "z" * 70_000, list(range(50_000))], [b"\x95" * 9]]
)
def test_data_outside_of_frames_stays(value: Any) -> None:
    data = pickle.dumps(value, 4)
    left = b"".join(unframed([data]))
    assert pickle.loads(left) == value


def test_streams_that_end_anywhere() -> None:
    data = pickle.dumps(list(range(30_000)), 4)
    frames = [at or 0 for opcode, _, at in pickletools.genops(data) if opcode.name == "FRAME"]
    assert frames[0] == 2
    chance = random.Random(1)
    for end in [
        0,
        1,
        2,
        3,
        7,
        11,
        12,
        frames[1] + 8,
        frames[1] + 9,
        *chance.choices(range(len(data)), k=20),
    ]:
        whole = [at for at in frames if at + 9 <= end]
        starts, ends = [0, *(at + 9 for at in whole)], [*whole, end]
        expected = b"".join(data[first:last] for first, last in zip(starts, ends, strict=True))
        assert b"".join(unframed(pieces(data[:end], [1000, 7]))) == expected


def test_frames_with_wrong_sizes_stay() -> None:
    data = b"\x80\x04\x95" + (3).to_bytes(8, "little") + b"]\x94.\x95\x95" + bytes(20)
    assert b"".join(unframed([data])) == b"\x80\x04]\x94." + bytes(13)
    data = b"\x80\x04\x95" + (2**63).to_bytes(8, "little") + b"]\x94.\x95" + bytes(9)
    assert b"".join(unframed(pieces(data, [4]))) == b"\x80\x04]\x94.\x95" + bytes(9)


def test_a_window_goes_forward() -> None:
    data = bytes(200) + random.Random(2).randbytes(1000)
    window = StreamWindow(pieces(data, [100]))
    window.forward(0, 150)
    assert window.data == data[:200]
    window.forward(120, 150)
    assert window.data == data[120:300]
    assert not window.is_whole
    window.forward(0, 5000)
    assert window.data == data[120:]
    assert window.is_whole
