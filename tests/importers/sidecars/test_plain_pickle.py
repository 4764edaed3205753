"""Pickles of plain data against Python's unpickler; all others are rejected and run nothing."""

from __future__ import annotations

import collections
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from torch_tb_profiler.importers.sidecars.plain_pickle import NotPlainDataError, read_plain

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


@examples(150)
@given(VALUES, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_values_are_read_as_python_reads_them(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert read_plain(data) == pickle.loads(data)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_defaultdict_becomes_a_plain_dictionary(protocol: int) -> None:
    """``get_kernel_annotations()`` answers a ``defaultdict(list)``; its texts may be shared."""
    annotations: Any = collections.defaultdict(list)
    shared = {"str": "phase"}
    annotations[(5 << 32) | 1] = [shared]
    annotations[(5 << 32) | 2] = [shared, {"stream": 60}]
    read = read_plain(pickle.dumps(annotations, protocol))
    assert type(read) is dict
    assert read == dict(annotations)


class _Runs:
    """A pickle of it runs a command when Python reads it."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.target}",)


class _Own:
    pass


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_hostile_pickle_runs_nothing(tmp_path: Path, protocol: int) -> None:
    target = tmp_path / "ran"
    data = pickle.dumps({1: [_Runs(target)]}, protocol)
    with pytest.raises(NotPlainDataError, match=r"it names \w+\.system"):
        read_plain(data)
    assert not target.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a pickle",
        pickle.dumps(_Own()),
        pickle.dumps({1, 2}),
        pickle.dumps(collections.OrderedDict(a=1)),
        pickle.dumps([1, 2, 3])[:-3],
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.",  # bytes of 2**63, none of which follow
        b"\x80\x02r\xff\xff\xff\xff.",  # remembers nothing at a place far away
        b"\x80\x04]\x94(K\x01e]h\x00.",  # two values
        b"\x80\x02}K\x01.",  # likewise
        b"ccollections\ndefaultdict\n(tR.",
        b"\x80\x02K\x01K\x02s.",  # sets an item of a number
        b"Pid\n.",
        b"\x80\x02\x82\x01.",
    ],
    ids=range(14),
)
def test_others_are_refused(data: bytes) -> None:
    with pytest.raises(NotPlainDataError):
        read_plain(data)


@pytest.mark.parametrize(
    "key",
    [
        b")" + b"\x85" * 500_000,  # a tuple in a tuple in …: Python itself crashes at its hash
        b")q\x000" + b"h\x00h\x00\x86q\x000" * 60 + b"h\x00",  # 2**60 values to hash
    ],
    ids=["deep", "wide"],
)
@pytest.mark.parametrize("item", [b"%bK\x01s.", b"(%bK\x01u.", b"0(%bK\x01d."])
def test_keys_are_texts_and_numbers(key: bytes, item: bytes) -> None:
    with pytest.raises(NotPlainDataError, match="a key is neither text nor number"):
        read_plain(b"\x80\x04}" + item % key)
