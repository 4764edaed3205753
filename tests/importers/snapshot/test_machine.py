"""The pickle machine: Python's pickler is the reference for data, and nothing is ever run.

Cases: protocols 2 to 5 of random data; streams in pieces of any size; everything that would import
or call; memory bombs; streams that end anywhere.
"""

from __future__ import annotations

import os
import pickle
import struct
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.snapshots import simulated
from torch_tb_profiler.budget import LIMITS_VARIABLE, Budget
from torch_tb_profiler.importers.plain_pickle.errors import (
    HostilePickleError,
    PickleError,
    TooManyValuesError,
    TruncatedPickleError,
)
from torch_tb_profiler.importers.plain_pickle.window import StreamWindow
from torch_tb_profiler.importers.snapshot.machine import SnapshotMachine

SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
    | st.text() | st.binary()
)  # fmt: skip
KEYS = st.integers() | st.text() | st.binary()
VALUES = st.recursive(
    SCALARS | st.sets(KEYS) | st.frozensets(KEYS),
    lambda inner: (
        st.lists(inner) | st.dictionaries(KEYS, inner) | st.tuples(inner, inner)
        | st.lists(inner).map(tuple) | inner.map(lambda value: [value, value])
    ),
    max_leaves=30,
)  # fmt: skip


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def read(data: bytes, size: int = 1 << 20) -> Any:
    return SnapshotMachine(StreamWindow(pieces(data, size))).run()


@examples(60)
@given(VALUES, st.integers(2, 5))
def test_data_is_what_python_reads(value: Any, protocol: int) -> None:
    # Sets are made by a call before protocol 4.
    data = pickle.dumps(value, protocol)
    try:
        assert read(data, 7) == value
    except HostilePickleError:
        assert protocol < 4


class Touches:
    """Unpickled, it would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_is_run(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "target"
    data = pickle.dumps({"segments": [], "x": [Touches(target)]}, protocol)
    with pytest.raises(HostilePickleError, match="system"):
        read(data)
    assert not target.exists()
    pickle.loads(data)
    assert target.exists(), "the pickle does what the test says it would"


HOSTILE = {
    b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.": r"os\.system \(GLOBAL\)",
    b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.": r"builtins\.eval \(STACK_GLOBAL\)",
    b"\x80\x02(X\x02\x00\x00\x00idios\nsystem\n.": r"os\.system \(INST\)",
    b"\x80\x02(}X\x02\x00\x00\x00ido.": "OBJ",
    b"\x80\x02})\x81.": "NEWOBJ",
    b"\x80\x04})}\x92.": "NEWOBJ_EX",
    b"\x80\x02}}b.": "BUILD",
    b"\x80\x02})R.": "REDUCE",
    b"\x80\x02\x82\x01.": "EXT1",
    b"\x80\x02\x83\x01\x00.": "EXT2",
    b"\x80\x02\x84\x01\x00\x00\x00.": "EXT4",
    b"\x80\x02Pid\n.": "PERSID",
    b"\x80\x02K\x01Q.": "BINPERSID",
    b"\x80\x05\x97.": "NEXT_BUFFER",
}


@pytest.mark.parametrize("data", HOSTILE)
def test_the_target_is_named(data: bytes) -> None:
    with pytest.raises(HostilePickleError, match=HOSTILE[data]):
        read(data)


@pytest.mark.parametrize(
    "value", [OrderedDict(a=1), date(2026, 1, 1), Fraction(1, 2), len, Path("/etc")]
)
def test_objects_are_rejected(value: Any) -> None:
    with pytest.raises(HostilePickleError):
        read(pickle.dumps([value], 4))


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 60),
        b"\x80\x04\x8d" + struct.pack("<Q", 1 << 40) + b"x" * 100,
        b"\x80\x02\x8b" + struct.pack("<I", 1 << 30) + b"\xff" * 100,
    ],
)
def test_claimed_lengths_take_no_memory(data: bytes) -> None:
    with pytest.raises(PickleError):
        read(data)


@pytest.mark.parametrize(
    "bomb", [b"]", b"(", b"}", b")", b"\x85", b"2", b"N", b"\x94", b"]0", b"(e", b"(1", b"\x80\x04"]
)
def test_values_are_bounded_and_no_opcode_is_for_free(
    bomb: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMITS_VARIABLE, "objects=1000")
    data = b"\x80\x04]" + bomb * 5000 + b"."
    machine = SnapshotMachine(StreamWindow(pieces(data, 1 << 20)), budget=lambda: Budget(0, 0))
    with pytest.raises(TooManyValuesError):
        machine.run()


def test_depth_and_sharing_cost_nothing() -> None:
    deep = read(b"\x80\x04]" + b"\x85" * 200_000 + b".")
    assert isinstance(deep, tuple)
    doubled = read(b"\x80\x04]" + b"\x94h\x00h\x00\x86" * 1 + b"2\x86" * 60 + b".")
    assert len(doubled) == 2
    with pytest.raises(PickleError, match="key"):
        read(b"\x80\x04}]" + b"\x85" * 100_000 + b"K\x01s.")
    assert read(b"\x80\x02]r\xff\xff\xff\xff.") == [], "a memo index allocates no memory"


@pytest.mark.parametrize("protocol", [0, 1])
def test_old_protocols_are_rejected(protocol: int) -> None:
    with pytest.raises(PickleError, match="protocol 0 or 1"):
        read(pickle.dumps({"segments": [1.5, "x"]}, protocol))


@examples(80)
@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_read_or_rejected(data: bytes, headed: bool) -> None:
    with suppress(PickleError):
        read((b"\x80\x04" if headed else b"") + data)


def test_a_truncated_stream_has_a_partial_value() -> None:
    snapshot = simulated(3, events=80)[0]
    data = pickle.dumps(snapshot, 4)
    counts = []
    for end in range(20, len(data) - 1, 61):
        reader = SnapshotMachine(StreamWindow(iter([data[:end]])))
        with pytest.raises(TruncatedPickleError):
            reader.run()
        whole = reader.partial_value()
        assert isinstance(whole, dict)
        runs = [run for device in whole.get("device_traces", []) for run in device]
        counts.append(sum(run.end - run.start for run in runs if hasattr(run, "end")))
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == len(snapshot["device_traces"][0])
