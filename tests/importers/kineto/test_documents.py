"""Recordings of several JSON objects, each with events: compared with the objects read by json."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.sums import Sums, add_up, slices
from tests.importers.kineto.reference import read_bytes, read_file
from torch_tb_profiler.importers.kineto.documents import next_object
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.importers.registry import detect_format
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.columns import EventColumns


def stream(number: int, count: int = 40, **header: Any) -> dict[str, Any]:
    """An object as Proton writes it: one stream, keys in order of the alphabet, no process."""
    events = [
        {
            "args": {"call_stack": ["scope", f"k{at % 3}"]},
            "cat": "kernel", "dur": 1.5 + number, "name": f"k{at % 3}", "ph": "X",
            "tid": number, "ts": at * 10.0,
        }
        for at in range(count)
    ]  # fmt: skip
    return {"displayTimeUnit": "us", **header, "traceEvents": events}


STREAMS = [stream(1), stream(2), stream(7, 3)]
FORMS = {
    "lines": "\n".join(json.dumps(each) for each in STREAMS) + "\n",
    "adjacent": "".join(json.dumps(each) for each in STREAMS),
    "indented": "\n\n".join(json.dumps(each, indent=2) for each in STREAMS),
    "a list": json.dumps(STREAMS),
    "an indented list": json.dumps(STREAMS, indent=1),
}


def expected(documents: list[dict[str, Any]]) -> Sums:
    """All slices by (thread, name), in ns."""
    events = [event for each in documents for event in each["traceEvents"]]
    return add_up(
        (("", str(event["tid"]), event["name"]), int(event["dur"] * 1000)) for event in events
    )


def all_slices(columns: EventColumns) -> Sums:
    return slices(build_trace(columns))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("piece_bytes", [300, 1 << 20])
def test_all_objects_are_read(form: str, piece_bytes: int, tmp_path: Path) -> None:
    text = FORMS[form].encode()
    columns = read_text(iter([text]), name="x", piece_bytes=piece_bytes)
    assert all_slices(columns) == expected(STREAMS)
    assert "trailing_data" not in columns.quality.counts
    assert "truncated" not in columns.quality.counts
    path = tmp_path / "x.json"
    path.write_bytes(text)
    assert all_slices(read_file(path)) == expected(STREAMS)
    assert all_slices(read_bytes(gzip.compress(text), 7)) == expected(STREAMS)


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_lists_them(form: str) -> None:
    assert detect_format(FORMS[form].encode(), "x.json", True).is_trace


def test_metadata_of_later_objects_joins() -> None:
    first, second = stream(1), stream(2)
    first["nccl_version"] = "2.27"
    second["record_shapes"] = 1
    second["with_stack"] = 0
    columns = read_bytes((json.dumps(first) + json.dumps(second)).encode())
    assert columns.info.recording.record_shapes is True
    assert columns.info.recording.with_stack is False


def test_damage_at_the_end_is_counted() -> None:
    text = FORMS["lines"].encode()
    columns = read_bytes(text + b"garbage")
    assert columns.quality.counts["trailing_data"] == 1
    assert all_slices(columns) == expected(STREAMS)
    cut = read_bytes(text[: len(text) - 30])
    assert cut.quality.counts["truncated"] == 1
    assert sum(count for count, _ in all_slices(cut).values()) == 82


def test_the_same_recording_again_is_not_joined() -> None:
    one = stream(1, schemaVersion=1)
    columns = read_bytes(json.dumps(one).encode() * 2)
    assert all_slices(columns) == expected([one])
    assert columns.quality.counts["trailing_data"] == 1


def test_objects_with_another_base_are_not_joined() -> None:
    same = [stream(1, baseTimeNanoseconds=5), stream(2, baseTimeNanoseconds=5)]
    columns = read_bytes("\n".join(map(json.dumps, same)).encode())
    assert all_slices(columns) == expected(same)
    other = [stream(1, baseTimeNanoseconds=5), stream(2, baseTimeNanoseconds=6)]
    columns = read_bytes("\n".join(map(json.dumps, other)).encode())
    assert all_slices(columns) == expected(other[:1])
    assert columns.quality.counts["trailing_data"] == 1
    later = [{**stream(1), "baseTimeNanoseconds": 5}, stream(2)]
    columns = read_bytes("\n".join(map(json.dumps, later)).encode())
    assert all_slices(columns) == expected(later[:1])


def test_many_tiny_objects_take_seconds_at_most() -> None:
    tiny = json.dumps(stream(1, 1)).encode() + b"\n"
    columns = read_bytes(tiny * 20_000)
    assert columns.tables["slices"]["start_ns"].size > 1000


@pytest.mark.parametrize(
    "text", [b"", b"]", b"]}", b"]}{", b']}{"a": 1}', b']}{"traceEvents": {}}', b"]" + b"[" * 9000]
)
def test_what_is_no_other_object(text: bytes) -> None:
    assert next_object(text, 0) is None
