"""Which of several ``traceEvents`` is read: the top-level one with events, else the most likely."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.importers.kineto.reference import actual, chunks_of, read_bytes
from torch_tb_profiler.importers.kineto.array_start import SEARCH_BEYOND_BYTES, EventArrayFinder
from torch_tb_profiler.importers.kineto.info import RECORDER
from torch_tb_profiler.importers.kineto.reader import read_file, read_text
from torch_tb_profiler.trace.info import JobInfo, TraceInfo

EVENT = '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":1,"ts":100,"dur":50}'
TWO = f'"traceEvents":[{EVENT % "a"},{EVENT % "b"}]'
OTHER = f'"traceEvents":[{EVENT % "other"}]'
RANK = '"distributedInfo":{"rank":3}'

READ = {
    "in metadata, empty": f'{{"conf":{{"traceEvents":[]}},{TWO},{RANK}}}',
    "in metadata, of numbers": f'{{"conf":{{"traceEvents":[1,2]}},{RANK},{TWO}}}',
    "in metadata, of events": f'{{"conf":{{{OTHER}}},{TWO},{RANK}}}',
    "in a list in metadata": f'{{"conf":[{{{OTHER}}}],{TWO},{RANK}}}',
    "twice, the first empty": f'{{"traceEvents":[],{RANK},{TWO}}}',
    "twice, the second empty": f'{{{TWO},{RANK},"traceEvents":[]}}',
    "thrice": f'{{"traceEvents":[],"a":{{"traceEvents":[]}},{RANK},{TWO}}}',
    "in a string": f'{{"cmd":"x \\"traceEvents\\": [{{",{RANK},{TWO}}}',
    "brackets in strings before": f'{{"cmd":"}}]{{{{[[\\\\",{RANK},{TWO}}}',
    "far from its bracket": f"{{{RANK},{TWO.replace('[', '[' + ' ' * 200)}}}",
}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
@pytest.mark.parametrize("chunk_bytes", [1, 7, 1 << 16])
def test_the_real_array_is_read(text: str, chunk_bytes: int, tmp_path: Path) -> None:
    columns = read_bytes(text.encode(), chunk_bytes)

    assert [row[1] for row in actual(columns)["slices"]] == ["a", "b"]
    assert columns.info == TraceInfo(recorder=RECORDER, job=JobInfo(rank=3))
    assert columns.quality.counts == {}
    (tmp_path / "trace.json").write_text(text)
    from_file = read_file(str(tmp_path / "trace.json"), name="x")
    assert from_file is not None
    assert actual(from_file) == actual(columns)


def test_a_wrapped_trace_is_read() -> None:
    columns = read_bytes(f'{{"data":{{{TWO}}},"note":"{"x" * 200}"}}'.encode())

    assert [row[1] for row in actual(columns)["slices"]] == ["a", "b"]


def test_a_wrapped_trace_longer_than_the_search_is_read_once() -> None:
    count = SEARCH_BEYOND_BYTES // len(EVENT) * 2
    events = ",".join(EVENT % number for number in range(count))
    text = f'{{"data":{{"traceEvents":[{events}]}},{OTHER}}}'.encode()

    columns = read_text(chunks_of(text), name="x")

    names = [row[1] for row in actual(columns)["slices"]]
    assert names == [str(number) for number in range(count)]


def test_an_empty_recording_stays_empty() -> None:
    for text in ('{"conf":{"traceEvents":[7]},"traceEvents":[]}', '{"traceEvents":[ ]}'):
        columns = read_bytes(text.encode())
        assert actual(columns)["slices"] == []
        assert columns.quality.counts == {}


def test_a_file_that_ends_after_the_bracket_is_truncated() -> None:
    for text in (f'{{{RANK},"traceEvents":[', f'{{{RANK},"traceEvents":[  \n'):
        columns = read_bytes(text.encode())
        assert columns.quality.counts["truncated"] == 1
        assert columns.info == TraceInfo(recorder=RECORDER, job=JobInfo(rank=3))


def test_unescaped_quotes_before_the_events_do_not_hide_them() -> None:
    for value in ('a "b', 'a "b" {', '"', '{"', '"}'):
        columns = read_bytes(f'{{"user":"{value}",\n{TWO}}}'.encode())
        assert [row[1] for row in actual(columns)["slices"]] == ["a", "b"]


JSON = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.text(max_size=3), st.just("traceEvents")), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(
    before=st.dictionaries(st.text(max_size=3), JSON, max_size=4),
    after=st.dictionaries(st.text(max_size=3), JSON, max_size=2),
    chunk_bytes=st.integers(1, 60),
)
@example(before={"a": {"traceEvents": [{"traceEvents": [{}]}]}}, after={}, chunk_bytes=3)
def test_only_the_top_level_array_is_taken(
    before: dict[str, object], after: dict[str, object], chunk_bytes: int
) -> None:
    behind = {f"after {key}": value for key, value in after.items()}
    document = {**before, "traceEvents": [{"ph": "X"}], **behind}
    text = json.dumps(document).encode()
    wanted = len(json.dumps({**before, "traceEvents": []})) - len("]}")

    search = EventArrayFinder()
    buffer = bytearray()
    for chunk in chunks_of(text, chunk_bytes):
        buffer += chunk
        if search.is_final(buffer):
            break

    assert search.end == wanted
