"""Damaged and hostile trees of Proton."""

from __future__ import annotations

import json
import random
import time
from contextlib import suppress
from typing import Any

import pytest

from tests.helpers import proton as pt
from tests.helpers.sums import work
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns

PROFILE = pt.decode()
WHOLE = pt.as_json(PROFILE)


def read(data: bytes) -> EventColumns:
    return import_trace([data], name="a.hatchet")


def test_a_cut_tree_keeps_its_whole_nodes() -> None:
    cut = WHOLE[: WHOLE.index(b'"silu"')]
    columns = read(cut)
    assert columns.quality.counts["truncated"] == 1
    names = {name for _, _, _, name in work(build_trace(columns))}
    assert names == {"flash_fwd", "matmul_kernel"}


def test_cuts_and_bit_flips_end_in_columns_or_a_reason() -> None:
    numbers = random.Random(3)
    for form in (WHOLE, pt.as_msgpack(PROFILE), pt.streams(), pt.lanes()):
        for _ in range(60):
            data = bytearray(form)
            for _ in range(numbers.randint(1, 5)):
                data[numbers.randrange(len(data))] ^= 1 << numbers.randrange(8)
            with suppress(TraceFormatError):
                build_trace(read(bytes(data[: numbers.randrange(len(data))])))


def test_names_of_a_megabyte_are_cut() -> None:
    names = ["n" * 1_000_000 + str(number) for number in range(2)]
    root = pt.node("ROOT", *(pt.kernel(name, 10, 1) for name in names))
    columns = read(pt.as_json([root, {}]))
    assert columns.quality.counts["text_cut"] == 2
    assert max(map(len, columns.strings)) <= 262_144


ODD: list[Any] = [None, True, -1, 1.5, 1e400, 2**70, "x", [], {}, [1, "a"], {"a": 1}]


@pytest.mark.parametrize(
    "key", ["time (ns)", "count", "device_id", "device_type", "bytes", "flops"]
)
def test_values_of_other_types_are_read_as_none(key: str) -> None:
    for value in ODD:
        bad = pt.kernel("bad", 10, 1)
        bad["metrics"][key] = value
        root = pt.node("ROOT", bad, pt.kernel("good", 7, 1))
        columns = read(json.dumps([root, {}], allow_nan=True).encode())
        assert "good" in {name for _, _, _, name in work(build_trace(columns))}


@pytest.mark.parametrize("part", ["frame", "metrics", "children"])
def test_parts_of_other_types_lose_no_other_node(part: str) -> None:
    for value in ODD[:2] + ODD[6:]:
        odd = {**pt.node("odd"), part: value}
        columns = read(json.dumps([pt.node("ROOT", odd, pt.kernel("good", 7, 1)), {}]).encode())
        assert "good" in {name for _, _, _, name in work(build_trace(columns))}


DEEP = 100_000
HOSTILE = {
    "deep": b'[{"frame":{"name":"a"},"metrics":{},"children":[' * DEEP,
    "deep and whole": b'[' + b'{"frame":{"name":"a"},"metrics":{},"children":[' * DEEP
    + b"]}" * DEEP + b"]",
    "deep msgpack": b"\x92" + b"\x83\xa5frame\x81\xa4name\xa1a\xa8children\x91" * DEEP,
    "levels": pt.as_json([pt.node("ROOT", *[
        pt.node("s", pt.node("t", pt.kernel("k", 3, 1))) for _ in range(20_000)
    ]), {}]),
    "many calls": pt.as_json([pt.node("ROOT", pt.kernel("k", 2**59, 2**62)), {}]),
    "long names": pt.as_json([pt.node("ROOT", pt.kernel("k" * 5_000_000, 3, 1)), {}]),
    "odd devices": pt.as_json([pt.node("ROOT", pt.kernel("k", 3, 1, device=10**12)),
                               {"CUDA": {"x": 1, "0": [], "99999999999": {"arch": 1}}, "Y": 3}]),
}  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_take_seconds_at_most(data: bytes) -> None:
    start = time.process_time()
    with suppress(TraceFormatError):
        build_trace(read(data))
    assert time.process_time() - start < 15


def test_a_deep_tree_says_so() -> None:
    with pytest.raises(TraceFormatError) as raised:
        read(HOSTILE["deep and whole"])
    assert raised.value.code == "nested_too_deeply"
