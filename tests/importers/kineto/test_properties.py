"""Properties: what is written is read, however it is split; damage stays local."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.importers.kineto.reference import actual, chunks_of, expected, read_bytes
from torch_tb_profiler.importers import TraceFormatError, import_trace
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.columns import EventColumns

NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.sampled_from(
        [
            '}, {"ph": "X"',
            '"traceEvents": [',
            "]}",
            '\\"',
            "\\",
            "ProfilerStep#1",
            "\x00\x1f",
            "\u2028",
        ]
    ),
)
IDS = st.one_of(st.integers(-(2**70), 2**70), st.sampled_from(["Spans", "", "stream 7"]))
TIMES = st.one_of(
    st.integers(0, 2**46),
    st.integers(0, 2**42).map(lambda n: n / 1024),
)
INTS = st.integers(-(2**62), 2**62)
DIMS = st.lists(st.lists(st.integers(0, 2**40), max_size=4), max_size=4)
HOST_ARGS = st.fixed_dictionaries(
    {},
    optional={
        "External id": INTS,
        "Input Dims": DIMS,
        "Input type": st.lists(NAMES, max_size=3),
        "Concrete Inputs": st.lists(NAMES, max_size=3),
        "Sequence number": INTS,
        "Record function id": INTS,
        "anything": st.lists(st.dictionaries(NAMES, st.none()), max_size=2),
        "stream": NAMES,
    },
)
DEVICE_ARGS = st.fixed_dictionaries(
    {"device": st.integers(0, 200), "stream": st.integers(0, 2**32)},
    optional={
        "correlation": INTS,
        "grid": st.lists(st.integers(1, 2**31), min_size=3, max_size=3),
        "blocks per SM": st.floats(0, 1e6, allow_nan=False),
        "bytes": st.integers(0, 2**53),
    },
)


def _slices(category: str, args: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"ph": st.just("X"), "cat": st.just(category), "name": NAMES, "pid": IDS, "tid": IDS,
         "ts": TIMES, "dur": st.integers(0, 2**36), "args": args},
    )  # fmt: skip


EVENTS = st.lists(
    st.one_of(
        _slices("cpu_op", HOST_ARGS),
        _slices("kernel", DEVICE_ARGS),
        _slices("cuda_runtime", st.fixed_dictionaries({"correlation": INTS})),
        st.fixed_dictionaries(
            {"ph": st.just("i"), "name": NAMES, "pid": IDS, "tid": IDS, "ts": TIMES}
        ),
    ),
    max_size=12,
)


@examples(150)
@given(
    events=EVENTS,
    indent=st.sampled_from([None, 0, 1]),
    ascii_only=st.booleans(),
    chunk_bytes=st.integers(1, 400),
    piece_bytes=st.integers(1, 2000),
)
def test_what_is_written_is_read(
    events: list[dict[str, Any]], indent: int | None, ascii_only: bool, chunk_bytes: int,
    piece_bytes: int,
) -> None:  # fmt: skip
    text = json.dumps(
        {"schemaVersion": 1, "traceEvents": events, "baseTimeNanoseconds": 5},
        indent=indent,
        ensure_ascii=ascii_only,
    )
    wanted = expected(json.loads(text, parse_float=Decimal))

    columns = read_text(chunks_of(text.encode(), chunk_bytes), name="x", piece_bytes=piece_bytes)
    rows = actual(columns)

    for table in ("slices", "operator", "instants"):
        assert rows[table] == wanted[table]
    assert [row[:5] for row in rows["device"]] == [row[:5] for row in wanted["device"]]
    assert columns.quality.counts == {}


def _torch_text(name: str, neighbours: int = 3) -> bytes:
    """Events as torch <= 2.13 writes them: the name is not escaped."""
    event = (
        '\n  {{\n    "ph": "X", "cat": "cpu_op", "name": "{}", "pid": 7, "tid": 7,\n'
        '    "ts": {}.500, "dur": 2.000,\n    "args": {{\n      "External id": {}\n    }}\n  }}'
    )
    names = ["aten::mm"] * neighbours + [name] + ["aten::add"] * neighbours
    events = [event.format(text, 10 * at, at) for at, text in enumerate(names)]
    return ('{"schemaVersion": 1, "traceEvents": [' + ",".join(events) + "\n]}").encode()


@examples(200)
@given(
    name=st.lists(
        st.sampled_from(['"', "a", " ", ",", ":", "{", "}", "[", "]", '"pid": 5', "é", "1"]),
        min_size=1,
        max_size=12,
    ).map("".join)
)
@example(name='"')
@example(name='a"}')
@example(name='"}],')
@example(name='"}{')
@example(name='{"ph": "X"}, {"ph": "M"}')
@example(name='x", "pid": 5, "tid": 6, "name": "y')
def test_any_unescaped_name_is_restored(name: str) -> None:
    columns = read_bytes(_torch_text(name))

    names = [row[1] for row in actual(columns)["slices"]]

    assert names == ["aten::mm"] * 3 + [name] + ["aten::add"] * 3
    assert [row[-1] for row in actual(columns)["slices"]] == list(range(7))


WHOLE = _torch_text("a range")


def _read_or_refuse(data: bytes) -> EventColumns | None:
    try:
        return import_trace(chunks_of(data, 100), name="x")
    except TraceFormatError:
        return None


@examples(300)
@given(at=st.integers(60, len(WHOLE) - 8), byte=st.integers(0, 255))
@example(at=499, byte=ord("]"))
def test_one_bad_byte_harms_two_events_at_most(at: int, byte: int) -> None:
    columns = _read_or_refuse(WHOLE[:at] + bytes([byte]) + WHOLE[at + 1 :])

    assert columns is not None
    rows = {row[-1] for row in actual(columns)["slices"] if row[1].startswith("a")}
    assert len(rows & set(range(7))) >= 5


SHARDS = [
    *(b'{"traceEvents":[', b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\xff", b'"args"'),
    *(b'"ph":"X"', b'"ts":1', b"1e999", b"NaN", b"null"),
]


@examples(300)
@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(WHOLE.split(b" ")), max_size=60).map(b" ".join),
        st.lists(st.sampled_from(SHARDS), max_size=30).map(
            lambda parts: b'{"traceEvents":[' + b"".join(parts)
        ),
    )
)
def test_only_format_errors_are_raised(data: bytes) -> None:
    _read_or_refuse(data)
    _read_or_refuse(gzip.compress(data)[: len(data)])


def test_a_file_cut_at_any_byte_keeps_its_whole_events() -> None:
    ends = [at + 1 for at in range(len(WHOLE)) if WHOLE[at : at + 1] == b"}"]
    ends = [end for end in ends if WHOLE[:end].endswith(b"}\n  }")]
    start = WHOLE.index(b"[") + 1
    for cut in range(start, len(WHOLE)):
        columns = import_trace(iter([WHOLE[:cut]]), name="x")
        assert columns.tables["slices"]["start_ns"].size == sum(end <= cut for end in ends), cut
        assert columns.quality.counts == {"truncated": 1}, cut


def test_a_gzip_cut_at_any_byte_is_read_or_rejected() -> None:
    data = gzip.compress(WHOLE)
    sizes = []
    for cut in range(1, len(data)):
        columns = _read_or_refuse(data[:cut])
        sizes.append(0 if columns is None else columns.tables["slices"]["start_ns"].size)
        assert columns is None or "gzip_truncated" in columns.quality.counts
    assert sizes[-1] == 7
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("depth", [100_000, 3_000])
def test_deep_nesting_costs_one_event(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    text = WHOLE.replace(b'"External id": 3', f'"External id": 3, "deep": {deep}'.encode())

    columns = import_trace(chunks_of(text), name="x")

    assert columns.tables["slices"]["start_ns"].size >= 6
