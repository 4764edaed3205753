"""An event is identified in its file by the columns of its trace.

Truth: the events of the file by ``json``, per row in order of (start, longer first, file), which
is how a trace numbers its slices.
"""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.opening import open_file
from torch_tb_profiler.importers.event_query import EventArguments, SearchLimits
from torch_tb_profiler.importers.kineto import find_event
from torch_tb_profiler.importers.registry import importer_of
from torch_tb_profiler.importers.source import source_of
from torch_tb_profiler.loading.queries.arguments import event_query
from torch_tb_profiler.storage.locations import file_state, open_location
from torch_tb_profiler.trace.model import Trace

LIMITS = SearchLimits(1 << 30, 60.0)
DATA = Path(__file__).resolve().parents[2] / "data"
Event = dict[str, Any]


def opened(path: Path) -> Trace:
    return open_file(open_location(str(path)), cache=None)


def search(
    path: Path, trace: Trace, slice_id: int, limits: SearchLimits = LIMITS
) -> EventArguments:
    location = open_location(str(path))
    source = source_of(location, file_state(location))
    answer = importer_of(source).find(source, event_query(trace, slice_id), limits)
    assert answer is not None
    return answer


def values(answer: EventArguments) -> dict[str, Any]:
    assert answer.end == "found", answer
    return {name: json.loads(text, parse_float=Decimal) for name, text in answer.arguments.items()}


def text(value: Any) -> str:
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, Decimal) and value == int(value) else str(value)


def slices_of_file(path: Path) -> dict[tuple[str, str], list[Event]]:
    """Per row its X events in the order of slices."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    document = json.loads(raw.decode("utf-8-sig"), parse_float=Decimal)
    events = document if isinstance(document, list) else document["traceEvents"]
    rows: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        if event.get("ph") == "X" and event.get("cat") != "cpu_instant_event":
            rows.setdefault((text(event.get("pid")), text(event.get("tid"))), []).append(event)
    for row in rows.values():
        row.sort(key=_begin_and_length)
    return rows


def _begin_and_length(event: Event) -> tuple[Decimal, Decimal]:
    return Decimal(event["ts"]), -max(Decimal(0), Decimal(event.get("dur") or 0))


def check(path: Path, count: int) -> None:
    trace = opened(path)
    rows = slices_of_file(path)
    tracks = trace.slices["track"].to_numpy()
    keys = dict(zip(trace.tracks["track"], trace.tracks.select("pid", "tid").rows(), strict=True))
    chosen = np.random.default_rng(7).permutation(trace.slices.height)[:count]
    for slice_id in chosen.tolist():
        track = int(tracks[slice_id])
        event = rows[keys[track]][slice_id - int(np.searchsorted(tracks, track))]
        arguments = values(search(path, trace, slice_id))
        assert arguments == (event.get("args") or {}), (path.name, slice_id)


def test_arguments_are_those_of_the_file(samples: Path) -> None:
    for folder in sorted(samples.iterdir()):
        for path in sorted(folder.glob("*.json*"))[:1]:
            check(path, 4)


@pytest.mark.parametrize(
    "name",
    [
        "bom", "crlf", "duplicate_events", "duplicate_keys", "gzip_no_suffix", "huge_dur",
        "list_top_level", "missing_dur", "negative_dur", "no_args", "odd_ids", "string_ts",
        "absolute_ns_ts", "overlap_kernels", "empty_last_event", "gpu_only",
    ],
)  # fmt: skip
def test_odd_files(name: str) -> None:
    check(DATA / "malformed_derived" / f"{name}.json", 40)


def test_a_paddle_trace(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": "Operator", "name": f"conv2d[{n}.000 us]", "pid": 1, "tid": 1, "ts": 5}
        | {"dur": n, "args": {"number": n}}
        for n in (3, 2, 2)
    ]
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"schemaVersion": "1.0.3", "traceEvents": events}))
    trace = opened(path)
    assert trace.text(trace.slices["name_code"][0]) == "conv2d"
    assert [values(search(path, trace, n))["number"] for n in range(3)] == [3, 2, 2]


def write(path: Path, events: list[Event], **header: Any) -> Path:
    defaults = {"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1}
    whole = [{**defaults, **event} for event in events]
    path.write_text(json.dumps({**header, "traceEvents": whole}))
    return path


def numbers(path: Path) -> list[int]:
    trace = opened(path)
    return [values(search(path, trace, each))["n"] for each in range(trace.slices.height)]


def test_equal_events_are_distinguished_by_their_order(tmp_path: Path) -> None:
    events = [{"ts": 10, "dur": dur, "args": {"n": n}} for n, dur in enumerate((5, 9, 5, 5, 9))]
    assert numbers(write(tmp_path / "w.json", events)) == [1, 4, 0, 2, 3]


def test_pairs_of_begin_and_end(tmp_path: Path) -> None:
    events = [
        {"ph": "B", "ts": 10, "args": {"n": 0}},
        {"ph": "B", "ts": 10, "args": {"n": 1}},
        {"ph": "E", "ts": 20},
        {"ph": "E", "ts": 30},
        {"ts": 10, "dur": 3, "args": {"n": 2}},
    ]
    assert numbers(write(tmp_path / "w.json", events)) == [0, 1, 2]


def test_times_in_other_spellings(tmp_path: Path) -> None:
    base, begin = 1_700_000_000_000_000, {"dur": 2, "args": {"n": 0}}
    other = {"dur": 1, "args": {"n": 1}}
    for events in (
        [{"ts": base + 7, **begin}, {"ts": base + 9, **other}],
        [{"ts": 6.9999, **begin}, {"ts": 8.00004, **other}],
        [{"ts": "7.5", **begin}, {"ts": -3, **other}],
    ):
        assert sorted(numbers(write(tmp_path / "w.json", events))) == [0, 1]
    path = tmp_path / "w.json"
    path.write_text(path.read_text().replace('"7.5"', "7.5e0"))
    assert sorted(numbers(path)) == [0, 1]


def test_a_damaged_event_is_read_as_far_as_it_is_repaired(tmp_path: Path) -> None:
    path = write(tmp_path / "w.json", [{"ts": 1, "dur": 2, "args": {"n": 1, "bad": "C:_x"}}])
    path.write_text(path.read_text().replace("C:_x", "C:\\x"))
    answer = values(search(path, opened(path), 0))
    assert answer == {"n": 1, "bad": "C:\\x"}


def test_events_that_the_file_no_longer_has(tmp_path: Path) -> None:
    event = {"ts": 1, "dur": 2, "args": {"n": 1}}
    path = write(tmp_path / "w.json", [event, event])
    trace = opened(path)
    write(path, [event])
    assert search(path, trace, 0).end == "unclear"
    write(path, [{**event, "ts": 3}])
    assert search(path, trace, 0).end == "absent"


def test_a_limit_ends_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find_event, "SEARCH_BYTES", 1 << 10)
    events = [{"ts": ts, "dur": 1, "args": {"pad": "x" * 50}} for ts in range(1000)]
    path = write(tmp_path / "w.json", events)
    trace = opened(path)
    assert search(path, trace, 0, SearchLimits(1 << 12, 60.0)).end == "found"
    assert search(path, trace, 999, SearchLimits(1 << 12, 60.0)).end == "too_far"
    assert search(path, trace, 999).end == "found"
