"""Cases: lanes, nodes of graphs that are no work and kinds of copies, as slices of the CUPTI
monitor and as render stages; both give the tables of the JSON of the same events."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.torch_2_15 import graph_launch
from tests.importers.pftrace.writer import (
    annotation,
    event,
    interned,
    message,
    packet,
    process,
    read_data,
    rows,
)
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.columns import EventColumns

Event = dict[str, Any]
STAGES = {
    "kernel": 1, "gpu_memcpy": 2, "gpu_memset": 3, "graph_event_node": 5, "graph_host_node": 6,
}  # fmt: skip
STAGE_NAMES = {1: "Kernel", 2: "Memcpy", 3: "Memset", 5: "EventRecord", 6: "HostNode"}
LANES = {7: 1007, 1001: 2001}


def on_device() -> list[Event]:
    return [each for each in graph_launch() if each.get("cat") in STAGES]


def as_slices() -> bytes:
    data = process(9, 0, "python")
    for lane, uuid in LANES.items():
        data += packet((60, message((1, uuid), (2, f"stream {lane}"), (5, 9))))
    for each in on_device():
        begin, track = each["ts"] * 1000, (11, LANES[each["tid"]])
        given = [annotation(key, value) for key, value in each["args"].items()]
        data += event(begin, 1, track, (22, each["cat"]), (23, each["name"]), *given)
        data += event(begin + each["dur"] * 1000, 2, track)
    return data


def as_stages() -> bytes:
    queues = {100 + lane: f"[{lane:02}] stream {lane}" for lane in LANES}
    data = packet((13, 1), (12, message(*interned(24, STAGE_NAMES | queues))))
    for each in on_device():
        name = (1000, message((1, each["ts"]), (3, each["name"])))
        extra = [(6, message((1, key), (2, str(value)))) for key, value in each["args"].items()]
        stage = message(
            (2, each["dur"] * 1000), (11, 0), (13, 100 + each["tid"]), (14, STAGES[each["cat"]]),
            (19, each["ts"]), *extra,
        )  # fmt: skip
        data += packet((8, each["ts"] * 1000), (13, 2), (12, message(name)), (53, stage))
    return data


def table(columns: EventColumns, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table, by name of slice."""
    names = columns.tables["slices"]["name_code"]
    shown = [{**row, "slice": columns.strings[names[row["slice"]]]} for row in rows(columns, name)]
    return sorted((tuple(row.items()) for row in shown), key=str)


@pytest.mark.parametrize("written", [as_slices, as_stages])
@pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
def test_tables_are_those_of_json(written: Callable[[], bytes], piece_bytes: int) -> None:
    columns = read_data(written(), piece_bytes)
    text = json.dumps({"traceEvents": on_device()}).encode()
    twin = import_trace([text], name="x")
    for name in ("arguments", "device"):
        assert table(columns, name) == table(twin, name)
    kinds = [
        sorted((row["name_code"], row["category"]) for row in rows(each, "slices"))
        for each in (columns, twin)
    ]
    assert kinds[0] == kinds[1]
    assert len(kinds[0]) == 6
