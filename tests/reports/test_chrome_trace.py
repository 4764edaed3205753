"""Cases: a whole trace read back is the trace; a cut holds what overlaps it and nothing else;
counters against counting moments; arrows; header secrets stay behind; hostile text; bounded pieces.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.opening import open_file
from tests.helpers.traces import op
from tests.helpers.traces import trace as trace_of
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles
from torch_tb_profiler.analysis.selection import Selection, SelectionError
from torch_tb_profiler.reports import chrome_counters, chrome_slices, chrome_trace
from torch_tb_profiler.reports.chrome_counters import levels_within, utilization_buckets
from torch_tb_profiler.reports.chrome_trace import chrome_json, selected_windows
from torch_tb_profiler.reports.chrome_tracks import Event
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.model import Trace

Writer = Callable[..., Path]


def opened(path: Path) -> Trace:
    return open_file(open_location(str(path)), cache=None)


def exported(trace: Trace, **selection: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(b"".join(chrome_json(trace, Selection(**selection))))
    return document


def rows(trace: Trace) -> list[tuple[object, ...]]:
    """Every slice with absolute times, as a set that does not depend on row numbers."""
    base_ns = trace.meta.base_ns
    columns = trace.slices.select(
        "name_code", "raw_category_code", "category", "start_ns", "dur_ns", "correlation"
    )
    return sorted(
        (trace.text(row[0]), trace.text(row[1]) or "", row[2], base_ns + row[3], *row[4:])
        for row in columns.rows()
    )


def owners(trace: Trace) -> list[tuple[object, ...]]:
    """Every device slice with its operator, launch parameters and place."""
    names = trace.slices["name_code"]
    work = trace.device_work
    return sorted(
        (
            trace.text(row["name_code"]) or "",
            row["start_ns"] + trace.meta.base_ns,
            "" if row["owner"] is None else trace.text(names[row["owner"]]) or "",
            trace.text(row["grid_code"]) or "",
            row["device"],
            row["stream"],
            row["blocks_per_sm"] or 0.0,
        )
        for row in work.iter_rows(named=True)
    )


@pytest.mark.parametrize(
    "run",
    [
        "kineto_resnet50_nw0",
        "cpu_resnet_full",
        "cpu_ddp4_gloo",
        "dlrm_8_ranks",
        "h100_bert_small",
        "mi300_bert_small",
        "torch_compile_triton",
    ],
)
def test_a_whole_trace_read_back_is_the_trace(samples: Path, tmp_path: Path, run: str) -> None:
    trace = opened(sorted((samples / run).glob("*.gz"))[0])
    path = tmp_path / "w.json"
    path.write_bytes(b"".join(chrome_json(trace, Selection())))
    again = opened(path)
    assert rows(again) == rows(trace)
    assert owners(again) == owners(trace)
    assert again.memory.height == trace.memory.height
    assert again.memory["bytes"].sum() == trace.memory["bytes"].sum()
    assert again.python.height == trace.python.height
    assert again.steps["name"].to_list() == trace.steps["name"].to_list()
    for column in ("input_shape_code", "call_stack_code"):
        texts = [
            sorted(filter(None, map(each.text, each.operators[column]))) for each in (trace, again)
        ]
        assert texts[0] == texts[1]


def test_a_cut_holds_what_overlaps_it(samples: Path) -> None:
    file = sorted((samples / "kineto_resnet50_nw0").glob("*.gz"))[0]
    trace = opened(file)
    step = trace.steps.row(1, named=True)
    start_us, end_us = step["start_ns"] / 1000, step["end_ns"] / 1000
    base_us = trace.meta.base_ns / 1000
    raw = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    expected = sorted(
        event["name"]
        for event in raw
        if event.get("ph") == "X"
        and event["ts"] - base_us < end_us
        and max(event["ts"] + event["dur"], event["ts"] + 0.001) - base_us > start_us
    )
    events = exported(trace, steps=step["name"])["traceEvents"]
    assert sorted(event["name"] for event in events if event["ph"] == "X") == expected
    times = [event["ts"] for event in events if event["ph"] in "Ci"]
    assert min(times) >= start_us
    assert max(times) <= end_us


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        ({"start_ns": 0, "end_ns": 10_000}, ["a"]),
        ({"start_ns": 10_000, "end_ns": 20_000}, []),
        ({"start_ns": 9_999, "end_ns": 20_001}, ["a", "b"]),
        ({"start_ns": 25_000, "end_ns": 25_001}, ["b"]),
        ({"start_ns": 40_000}, ["c"]),
        ({}, ["a", "b", "c"]),
        ({"start_ns": 9_000_000}, []),
    ],
)
def test_edges_of_a_cut(
    tmp_path: Path, write_trace: Writer, selection: dict[str, int], names: list[str]
) -> None:
    trace = opened(write_trace(tmp_path / "w.json", ("a", "b", "c")))
    events = exported(trace, **selection)["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "X"] == names


def test_unknown_steps_are_refused_before_anything_is_sent(
    tmp_path: Path, write_trace: Writer
) -> None:
    with pytest.raises(SelectionError):
        chrome_json(opened(write_trace(tmp_path / "w.json")), Selection(steps="17"))


def test_counters_agree_with_counting_moments(samples: Path) -> None:
    file = sorted((samples / "kineto_resnet50_nw0").glob("*.gz"))[0]
    trace = opened(file)
    raw = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    base_us = round(trace.meta.base_ns / 1000)
    kernels = [
        (event["ts"] - base_us, event["dur"], event["args"]["blocks per SM"])
        for event in raw
        if event.get("ph") == "X" and event.get("cat") == "Kernel"
    ]
    ((start_ns,), (end_ns,)) = selected_windows(trace, Selection(steps="5"))
    (profile,) = gpu_profiles(trace).values()
    start_us = int(start_ns // 1000)
    filled = np.zeros(int((end_ns - start_ns) // 1000) + 1)
    for ts, dur, blocks in kernels:
        low, high = max(ts - start_us, 0), ts + dur - start_us
        if low < len(filled) and high > 0:
            filled[low:high] += blocks
    edges, busy = utilization_buckets(profile, int(start_ns), int(end_ns))
    assert 10 <= len(busy) - 1 <= 100
    places = (edges - start_ns) // 1000
    for low, high, value in zip(places[:-1], places[1:], busy[:-1], strict=True):
        assert value == pytest.approx((filled[low:high] > 0).mean(), abs=1e-9)
    assert profile.filled is not None
    moments, level = levels_within(profile.filled, int(start_ns), int(end_ns))
    for moment, value in zip(moments[:-1].tolist(), level[:-1].tolist(), strict=True):
        place = int((moment - start_ns) // 1000)
        assert value == pytest.approx(min(filled[place], 1.0), abs=1e-9)
    assert busy[-1] == level[-1] == 0


def test_arrows_lead_from_launches_to_their_work(samples: Path) -> None:
    trace = opened(samples / "h100_bert_small" / "rank0.pt.trace.json.gz")
    events = exported(trace)["traceEvents"]
    linked = trace.device_work["launch"].drop_nulls().len()
    arrows = [event for event in events if event.get("cat") == "ac2g"]
    assert [event["ph"] for event in arrows].count("s") == linked
    assert [event["ph"] for event in arrows].count("f") == linked


def test_secrets_of_the_header_stay_behind(tmp_path: Path, write_trace: Writer) -> None:
    path = write_trace(tmp_path / "w.json", metadata={"env": "TOKEN=hunter2"}, traceName="/home/me")
    text = b"".join(chrome_json(opened(path), Selection())).decode()
    assert "hunter2" not in text
    assert "/home/me" not in text


def test_hostile_names_survive(tmp_path: Path, write_trace: Writer) -> None:
    names = ('"quoted"', "</script><img onerror=x>", "\x00\x1b[31m", "☃")
    events = exported(opened(write_trace(tmp_path / "w.json", names)))["traceEvents"]
    assert tuple(event["name"] for event in events if event["ph"] == "X") == names


EVERY_KIND: list[dict[str, Any]] = [
    {"ph": "M", "pid": 1, "tid": 1, "name": "process_name", "args": {"name": "python"}},
    *(
        event
        for n in range(200)
        for event in (
            {"cat": "cpu_op", "name": "aten::mm", "ts": 100 * n, "dur": 50},
            {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 100 * n + 5, "dur": 5,
             "args": {"correlation": n + 1}},
            {"cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100 * n + 20, "dur": 40,
             "args": {"correlation": n + 1, "device": 0, "stream": 7, "blocks per SM": 0.5}},
            {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "ts": 100 * n + 7,
             "args": {"Device Type": 0, "Device Id": -1, "Addr": 64, "Bytes": 8}},
        )
    ),
]  # fmt: skip


@pytest.fixture
def every_kind(tmp_path: Path) -> Trace:
    defaults = {"ph": "X", "pid": 1, "tid": 1}
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"traceEvents": [{**defaults, **event} for event in EVERY_KIND]}))
    return opened(path)


def test_pieces_are_bounded_whatever_they_hold(
    every_kind: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = exported(every_kind)
    kinds = Counter(event["ph"] for event in whole["traceEvents"])
    assert [kinds[phase] for phase in "Xisf"] == [600, 200, 200, 200]
    assert kinds["C"] > 400
    for module, name in (
        (chrome_trace, "EVENTS_AT_ONCE"),
        (chrome_trace, "FLOWS_AT_ONCE"),
        (chrome_slices, "SLICES_AT_ONCE"),
        (chrome_counters, "EDGES_AT_ONCE"),
    ):
        monkeypatch.setattr(module, name, 7)
    pieces = list(chrome_json(every_kind, Selection()))
    assert json.loads(b"".join(pieces)) == whole
    sizes = [len(json.loads(b"[" + piece.lstrip(b",\n") + b"]")) for piece in pieces[1:-1]]
    assert max(sizes) == 7
    assert sum(sizes) == len(whole["traceEvents"])


@pytest.mark.parametrize("later", ["_flow_events", "_memory_events", "counter_events"])
def test_nothing_is_made_before_it_is_sent(
    every_kind: Trace, monkeypatch: pytest.MonkeyPatch, later: str
) -> None:
    def refused(*_arguments: object) -> Iterator[Event]:
        raise AssertionError
        yield {}

    monkeypatch.setattr(chrome_trace, later, refused)
    monkeypatch.setattr(chrome_trace, "EVENTS_AT_ONCE", 100)
    pieces = chrome_json(every_kind, Selection())
    assert all(next(pieces) for _ in range(5))
    with pytest.raises(AssertionError):
        list(pieces)


def test_ids_of_collectives_have_no_sign() -> None:
    ids: dict[str, Any] = {"Collective name": "allreduce", "Comms Id": 2**64 - 3, "Seq": 5}
    events = exported(trace_of([op("record_param_comms", 0, 5, **ids)]))["traceEvents"]
    (event,) = [each for each in events if each["ph"] == "X"]
    assert (event["args"]["Comms Id"], event["args"]["Seq"]) == (2**64 - 3, 5)
