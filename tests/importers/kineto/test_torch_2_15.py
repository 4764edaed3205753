"""Cases: the forms of torch 2.15 (lanes, nodes of graphs that are no work, kinds of copies and
counters), compared with plain json; both decoders agree on all of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.event_columns import ColumnsOfEvents
from tests.helpers.torch_2_15 import graph_launch
from tests.importers.kineto.reference import assert_same_columns
from torch_tb_profiler.importers import Reading, import_trace
from torch_tb_profiler.importers.kineto.native import native_status
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.importers.protocol import ReadOptions
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.model import Trace

Event = dict[str, Any]


@pytest.fixture(name="cuspy")
def cuspy_recording(corpus: Path) -> Path:
    return corpus / "torch_2_15" / "cuspy215.pt.trace.json"


def read(document: object, piece_bytes: int = 1 << 20) -> EventColumns:
    return read_text([json.dumps(document).encode()], name="x", piece_bytes=piece_bytes)


def texts(trace: Trace, column: str) -> list[str | None]:
    return [trace.text(code) for code in trace.slices[column].to_list()]


def arguments(trace: Trace) -> set[tuple[int, str | None, float | str | None]]:
    return {
        (row["slice"], trace.text(row["key_code"]), trace.text(row["text_code"]) or row["value"])
        for row in trace.arguments.iter_rows(named=True)
    }


def test_the_kernels_are_those_of_json_on_the_streams_they_ran_on(cuspy: Path) -> None:
    events = json.loads(cuspy.read_text())["traceEvents"]
    trace = build_trace(read_text([cuspy.read_bytes()], name="x"))
    there = Counter(
        (e["name"], e["args"]["device"], e["args"]["original_stream"], round(e["dur"] * 1000))
        for e in events
        if e.get("cat") == "kernel"
    )
    work = trace.device_work
    here = Counter(
        (trace.text(row["name_code"]), row["device"], row["stream"], row["dur_ns"])
        for row in work.iter_rows(named=True)
    )
    assert here == there
    assert sum(here.values()) == 12
    lanes = trace.tracks.filter("is_device")
    assert lanes["tid"].to_list() == ["7"]
    assert lanes["thread_name"].to_list() == ["stream 7 "]


def test_versions_and_device_are_read(cuspy: Path) -> None:
    info = read_text([cuspy.read_bytes()], name="x").info
    assert (info.cuda_runtime_version, info.cuda_driver_version) == (13010, 13030)
    (device,) = info.devices
    assert (device.sm_count, device.shared_memory_per_sm_bytes) == (148, 233472)


def test_counters_are_those_of_json_and_no_slices(cuspy: Path) -> None:
    events = [e for e in json.loads(cuspy.read_text())["traceEvents"] if e["ph"] == "C"]
    trace = build_trace(read_text([cuspy.read_bytes()], name="x"))
    there = Counter((e["name"], value) for e in events for value in e["args"].values())
    here = Counter(
        (trace.text(row["name_code"]), row["value"]) for row in trace.counters.iter_rows(named=True)
    )
    assert here == there
    assert set(trace.tracks["device"].gather(trace.counters["track"])) == {0}
    assert not set(texts(trace, "name_code")) & {name for name, _ in here}


def test_lanes_streams_and_annotations() -> None:
    trace = build_trace(read({"traceEvents": graph_launch()}))
    assert trace.device_work["stream"].to_list() == [20, 7, 7, 33]
    lane = trace.tracks.filter(pid="0", tid="1001").row(0, named=True)
    assert lane["thread_name"] == "TP lane"
    annotated = {trace.text(code) for code in trace.stated["annotation_code"].to_list()}
    assert annotated == {'{"name": "mlp"}'}


def test_nodes_that_are_no_work_keep_what_they_record() -> None:
    trace = build_trace(read({"traceEvents": graph_launch()}))
    names = texts(trace, "name_code")
    event, host = names.index("EventRecord"), names.index("HostNode: done")
    assert {trace.slices["category"][row] for row in (event, host)} == {Category.DEVICE_OTHER}
    assert trace.device_work["slice"].is_in([event, host]).sum() == 0
    given = arguments(trace)
    assert {(key, value) for row, key, value in given if row == event} == {
        ("cuda event", "0x7f"), ("stream", 7), ("graph id", 5), ("graph node id", 4),
    }  # fmt: skip
    assert {(key, value) for row, key, value in given if row == host} == {
        ("host fn", "done"), ("host fn addr", "0xab"), ("host process", 1), ("host thread", 8),
        ("stream", 33), ("graph id", 5), ("graph node id", 6),
    }  # fmt: skip


def test_kinds_of_copies_are_arguments_and_no_annotations() -> None:
    trace = build_trace(read({"traceEvents": graph_launch()}))
    names = texts(trace, "name_code")
    copy, memset = names.index("Memcpy"), names.index("Memset")
    assert {(key, value) for row, key, value in arguments(trace) if row in (copy, memset)} == {
        ("copy kind", "HtoD"), ("src kind", "Pageable"), ("dst kind", "Device"),
        ("memory kind", "3"),
    }  # fmt: skip


def test_memory_events_are_instants() -> None:
    trace = build_trace(read({"traceEvents": graph_launch()}))
    (row,) = trace.memory.iter_rows(named=True)
    assert (row["bytes"], row["address"], row["device"]) == (64, 7, 0)
    assert row["total_reserved_bytes"] == 128


def odd_values() -> Iterator[Event]:
    """The events of a graph with values of other types; a node keeps number and annotation, which
    are read of its first run."""
    chosen = random.Random(7)
    odd = (None, "33", 3.0, 3.5, True, [1], {"a": 1}, "", "x", -(2**63), 2**64, "é\n")
    for _ in range(300):
        for event in graph_launch():
            if event["ph"] != "X":
                continue
            args = {**event["args"]}
            keys = sorted(args.keys() - {"name", "graph node id"})
            for key in chosen.sample(keys, min(2, len(keys))):
                args[key] = chosen.choice(odd)
            yield {**event, "args": args}


@pytest.mark.parametrize("piece_bytes", [3000, 1 << 20])
def test_both_decoders_agree(
    cuspy: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    if native_status().decoder is None:
        pytest.skip(native_status().description)
    documents = [json.loads(cuspy.read_text()), {"traceEvents": list(odd_values())}]
    for document in documents:
        compiled = read(document, piece_bytes)
        with monkeypatch.context() as patch:
            patch.setattr(native_status(), "decoder", None)
            expected = read(document, piece_bytes)
        assert_same_columns(expected, compiled)
        assert compiled.tables["arguments"]["slice"].size


def test_arguments_are_those_of_a_plain_reading() -> None:
    columns = read({"traceEvents": graph_launch()})
    plain = ColumnsOfEvents(1).read(graph_launch(), {})
    assert arguments(build_trace(columns)) == arguments(build_trace(plain))


@pytest.mark.parametrize("name", ["copy kind", "stream", "host fn"])
def test_what_is_requested_is_there_once(name: str) -> None:
    text = json.dumps({"traceEvents": graph_launch()}).encode()
    reading = Reading(options=ReadOptions(arguments=(name,)))
    columns = import_trace([text], name="x", reading=reading)
    table = columns.tables["arguments"]
    pairs = Counter(zip(table["slice"].tolist(), table["key_code"].tolist(), strict=True))
    assert set(pairs.values()) == {1}
    assert name in {columns.strings[code] for code in table["key_code"].tolist()}
