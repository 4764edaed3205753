"""Stray values among events: only they are skipped, and their neighbours are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.importers.kineto.reference import actual, chunks_of, read_bytes
from torch_tb_profiler.importers.kineto.info import RECORDER
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.info import RecordingSettings, TraceInfo

STRAYS = ["null", "true", "5", "-1.5e3", '"junk"', '"}, {\\"ph\\": \\"X\\""', "[]", "[1, [2]]"]


def event(name: str) -> dict[str, Any]:
    envelope = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1}
    return {**envelope, "ts": 100, "dur": 50, "args": {}}


def read_items(*items: str) -> EventColumns:
    text = f'{{"schemaVersion": 1, "traceEvents": [{", ".join(items)}], "record_shapes": 1}}'
    return read_bytes(text.encode())


def names_of(columns: EventColumns) -> list[str]:
    return [row[1] for row in actual(columns)["slices"]]


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_a_stray_value_costs_no_event(stray: str, index: int) -> None:
    items = [json.dumps(event(name)) for name in "abc"]
    items.insert(index, stray)

    columns = read_items(*items)

    assert names_of(columns) == ["a", "b", "c"]
    assert columns.quality.counts == {"stray_text": 1}
    assert columns.quality.examples == {"stray_text": [stray]}
    assert columns.info == TraceInfo(
        recorder=RECORDER, recorder_version="1", recording=RecordingSettings(record_shapes=True)
    )


def test_many_stray_values_and_metadata_without_time() -> None:
    named = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "main"}}
    a, b = json.dumps(event("a")), json.dumps(event("b"))

    columns = read_items("null", json.dumps(named), "null", "[2]", a, "7", "{}", '"x"', b, "false")

    assert names_of(columns) == ["a", "b"]
    assert columns.tracks[0].thread_name == "main"
    assert columns.quality.counts == {"stray_text": 6, "empty_event": 1}


@pytest.mark.parametrize("piece_bytes", [1, 5_000, 1 << 20])
@pytest.mark.parametrize("count", [1, 2, 200])
@pytest.mark.parametrize("after", [[], [None], [event("b")], [None, event("b")]])
def test_only_the_brackets_of_a_list_of_events_are_skipped(
    piece_bytes: int, count: int, after: list[Any]
) -> None:
    inner = [event(f"inner {number}") for number in range(count)]
    text = json.dumps({"traceEvents": [event("a"), inner, *after], "record_shapes": 1})

    columns = read_text(chunks_of(text.encode()), name="x", piece_bytes=piece_bytes)

    last = [item["name"] for item in after if item]
    assert names_of(columns) == ["a", *(item["name"] for item in inner), *last]
    assert columns.quality.counts == {"stray_text": 2 + after.count(None)}
    assert columns.info == TraceInfo(
        recorder=RECORDER, recording=RecordingSettings(record_shapes=True)
    )


def test_exact_times_among_stray_values() -> None:
    timed = json.dumps(event("a")).replace('"ts": 100', '"ts": 1712195495519689.047')

    columns = read_items(timed, "null", timed)

    starts_ns = [row[4] for row in actual(columns)["slices"]]
    assert starts_ns == [1712195495519689047, 1712195495519689047]


@pytest.mark.parametrize("end", ["", ",", ", nul", ', "jun', ", 12", ", null", ", null,"])
def test_a_file_cut_at_a_stray_value_keeps_the_events_before(end: str) -> None:
    text = f'{{"traceEvents": [{json.dumps(event("a"))}, null, {json.dumps(event("b"))}{end}'

    columns = read_bytes(text.encode())

    assert names_of(columns) == ["a", "b"]
    assert columns.quality.counts["truncated"] == 1


@pytest.mark.parametrize(
    "name",
    [
        'x"}, null, {"y',
        'x"}, null',
        '"}, 5, {"ph": "X", "',
        'x"}, "y", {"z": "',
        '}, null, {"ph": "X"',
        'x"}, [{"ph": "X"}], {"',
        'x"}, null]',
    ],
)
def test_quotes_that_make_a_name_resemble_a_stray_value_are_repaired(name: str) -> None:
    bad = json.dumps(event("@")).replace("@", name)

    columns = read_items(json.dumps(event("a")), bad, json.dumps(event("b")))

    assert names_of(columns) == ["a", name, "b"]
    assert columns.quality.counts == {"quote_repaired": 1}


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(
    items=st.lists(st.one_of(VALUES, st.just({})), min_size=1, max_size=12),
    indent=st.sampled_from([None, 0, 1]),
    ascii_only=st.booleans(),
    piece_bytes=st.integers(1, 2000),
)
def test_any_values_between_events_are_skipped_and_counted(
    items: list[Any], indent: int | None, ascii_only: bool, piece_bytes: int
) -> None:
    """Events are inserted at odd indices, so that some are adjacent and some are not."""
    mixed: list[Any] = []
    for number, item in enumerate(items):
        mixed += [item, event(f"e{number}")] if number % 3 else [item]
    text = json.dumps(
        {"traceEvents": mixed, "record_shapes": 1}, indent=indent, ensure_ascii=ascii_only
    )

    columns = read_text(
        chunks_of(text.encode("utf-8", "replace"), 64), name="x", piece_bytes=piece_bytes
    )

    assert names_of(columns) == [f"e{number}" for number in range(len(items)) if number % 3]
    strays = sum(not isinstance(item, dict) for item in items)
    assert columns.quality.counts.get("stray_text", 0) == strays
    assert columns.info == TraceInfo(
        recorder=RECORDER, recording=RecordingSettings(record_shapes=True)
    )
