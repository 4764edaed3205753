"""Values of unexpected type: every event is read, values that are not numbers are absent and
counted."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.importers.kineto.reference import actual, read_bytes
from tests.importers.kineto.test_categories import read_events
from torch_tb_profiler.importers.kineto.times import OVERFLOW_NS, text_to_ns, to_ns
from torch_tb_profiler.trace.columns import ABSENT

ANY = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
        st.sampled_from(["N/A", "nan", "0x1f", "12", "1.5", 2**64, -(2**64), 1e300]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)  # fmt: skip
KEYS = (
    "External id", "correlation", "device", "stream", "grid", "block", "Input Dims", "Input type",
    "Call stack", "bytes", "blocks per SM", "occupancy", "Collective name", "Seq", "In msg nelems",
    "Process Group Ranks", "Is asynchronized op", "Python id", "Python module id", "Bytes", "name",
    "sort_index", "labels", "Sequence number", "Concrete Inputs", "python_caller_id",
)  # fmt: skip
ENVELOPE = ("cat", "name", "pid", "tid", "dur", "id", "args")


@given(
    category=st.sampled_from(["cpu_op", "kernel", "cuda_runtime", "python_function", "odd"]),
    phase=st.sampled_from("XiCMsfBE"),
    args=st.dictionaries(st.sampled_from(KEYS), ANY, max_size=8),
    envelope=st.dictionaries(st.sampled_from(ENVELOPE), ANY, max_size=3),
)
def test_no_type_of_any_value_loses_an_event(
    category: str, phase: str, args: dict[str, Any], envelope: dict[str, Any]
) -> None:
    odd = {"ph": phase, "cat": category, "name": "[memory]", "args": args} | envelope
    columns = read_events({"cat": "cpu_op"}, odd, {"cat": "cpu_op"})

    slices = columns.tables["slices"]["start_ns"].size
    is_slice = phase in "XB" and odd["cat"] != "cpu_instant_event"
    assert slices == 2 + is_slice
    assert "event_dropped" not in columns.quality.counts
    for table in columns.tables.values():
        assert len({values.size for values in table.values()}) == 1


def test_numbers_written_as_text() -> None:
    args = {"device": "1", "stream": "0x7", "bytes": "1024", "blocks per SM": "2.5"}
    columns = read_events({"cat": "kernel", "args": args})
    device = columns.tables["device"]

    assert [device[name][0] for name in ("device", "stream", "bytes", "blocks_per_sm")] == [
        1, 7, 1024, 2.5,
    ]  # fmt: skip
    assert columns.quality.counts == {}


def test_texts_for_not_a_number_are_counted() -> None:
    columns = read_events(
        {"cat": "gpu_memcpy", "args": {"device": 0, "bytes": "N/A", "stream": "nan"}}
    )

    assert columns.tables["device"]["bytes"].tolist() == [ABSENT]
    assert columns.quality.counts == {"not_a_number": 2}


def test_call_stacks_start_with_the_innermost_frame() -> None:
    def stack(**args: Any) -> str | None:
        columns = read_events({"cat": "cpu_op", "args": args})
        rows = actual(columns)["operator"]
        return rows[0][4] if rows else None

    assert stack(**{"Call stack": "f.py(1): a;f.py(2): b"}) == "f.py(1): a;f.py(2): b"
    assert stack(**{"Call stack": "f.py(1): a;f.py(2): b;"}) == "f.py(1): a;f.py(2): b"
    outermost_first = {"Call stack": "f.py(2): b;f.py(1): a;", "python_caller_id": 3}
    assert stack(**outermost_first) == "f.py(1): a;f.py(2): b"
    assert stack(**{"Call stack": ""}) is None


def test_occupancy_limits_as_text() -> None:
    limits = {"limitingFactors": ["REGS", "SMEM"]}
    columns = read_events({"cat": "kernel", "args": {"device": 0, "occupancy": limits}})

    code = columns.tables["device"]["occupancy_limit_code"][0]
    assert columns.strings[code] == "REGS, SMEM"


@given(st.integers(0, 2**62 // 1000), st.integers(0, 999))
@example(2**42, 1)
@example(2**43, 1)
def test_decimal_times_are_exact(whole: int, thousandths: int) -> None:
    text = f'{{"traceEvents":[{{"ph":"X","name":"a","ts":{whole}.{thousandths:03},"dur":1.5}}]}}'

    columns = read_bytes(text.encode())

    start = columns.base_ns + int(columns.tables["slices"]["start_ns"][0])
    assert start == whole * 1000 + thousandths
    assert columns.tables["slices"]["dur_ns"].tolist() == [1500]


@given(st.decimals(-(2**60), 2**60, allow_nan=False, places=3))
def test_text_times_are_exact(value: Decimal) -> None:
    wanted = int(value * 1000)
    assert text_to_ns(str(value)) == max(min(wanted, OVERFLOW_NS), -OVERFLOW_NS)


@pytest.mark.parametrize("word", ["", "N/A", "nan", "1.2.3", "one", "sNaN"])
def test_texts_that_are_not_times_are_absent(word: str) -> None:
    assert text_to_ns(word) == ABSENT
    values: list[Any] = [word, None, [], True]
    raws = [msgspec.Raw(json.dumps(value).encode()) for value in values]
    assert to_ns(raws).ns.tolist() == [ABSENT] * 4


def test_events_without_usable_time_are_counted() -> None:
    columns = read_events({"ts": None}, {"ts": "soon"}, {"ts": 2**70}, {"ts": "3.5"}, {"ts": -1})

    assert columns.tables["slices"]["start_ns"].tolist() == [3500, -1000]
    assert columns.quality.counts["event_without_time"] == 3


def test_begin_and_end_without_their_partner() -> None:
    columns = read_bytes(
        json.dumps(
            {
                "traceEvents": [
                    {"ph": "E", "cat": "cpu_op", "name": "lost", "tid": 1, "ts": 1},
                    {"ph": "B", "cat": "cpu_op", "name": "open", "tid": 1, "ts": 2},
                    {"ph": "B", "cat": "cpu_op", "name": "inner", "tid": 1, "ts": 3},
                    {"ph": "E", "cat": "cpu_op", "name": "inner", "tid": 1, "ts": 5},
                    {"ph": "X", "cat": "cpu_op", "name": "last", "tid": 1, "ts": 6, "dur": 4},
                    {"ph": "B", "cat": "cpu_op", "name": "outer", "tid": 2, "ts": 0},
                    {"ph": "B", "cat": "cpu_op", "name": "outer", "tid": 2, "ts": 1},
                    {"ph": "E", "cat": "cpu_op", "name": "outer", "tid": 2, "ts": 2},
                    {"ph": "E", "cat": "cpu_op", "tid": 2, "ts": 9},
                ]
            }
        ).encode()
    )

    rows = [(row[1], row[4], row[5]) for row in actual(columns)["slices"]]
    assert rows == [
        ("open", 2000, 8000),
        ("inner", 3000, 2000),
        ("last", 6000, 4000),
        ("outer", 0, 9000),
        ("outer", 1000, 1000),
    ]
    assert columns.quality.counts == {"unmatched_end": 1, "unmatched_begin": 1}


def test_an_empty_name_is_a_missing_name() -> None:
    """Also together with events that have none at all."""
    empty_only = read_events({"cat": "cpu_op", "name": ""})
    with_unnamed = read_events({"cat": "cpu_op", "name": ""}, {"cat": "cpu_op", "name": None})
    for columns, count in ((empty_only, 1), (with_unnamed, 2)):
        codes = columns.tables["slices"]["name_code"].tolist()
        assert [columns.strings[code] for code in codes] == ["(unnamed)"] * count
        assert columns.quality.counts["missing_name"] == count


@pytest.mark.parametrize("odd", ["1e400", "-1E+400", "1e99999999999999999999", "9" * 30])
def test_numbers_beyond_a_double_lose_only_their_event(odd: str) -> None:
    exact = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "dur": 1}
    good = json.dumps({**exact, "ts": 0}).replace('"ts": 0', '"ts": 1700000000000000.125')
    bad = json.dumps({**exact, "ts": 0}).replace('"ts": 0', f'"ts": {odd}')

    columns = read_bytes(f'{{"traceEvents":[{good},{bad},{good}]}}'.encode())

    assert len(columns.tables["slices"]["start_ns"]) == 2
    assert set(columns.tables["slices"]["start_ns"] % 1000) == {125}
    assert columns.quality.counts["event_without_time"] == 1
