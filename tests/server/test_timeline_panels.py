"""Requests of the timeline panels over HTTP: a range on some tracks, idle gaps, slices of the same
name, and the arguments of a slice from its file; invalid requests are rejected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site

EVENTS = [
    {"cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 90, "args": {"Mine": "<b>", "KEY": 1}},
    {"cat": "cpu_op", "name": "aten::mm", "tid": 2, "ts": 5, "dur": 50},
    {"cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 40, "dur": 25}
    | {"args": {"device": 0, "stream": 7}},
]


@pytest.fixture
def client(tmp_path: Path) -> Client:
    whole = [{"ph": "X", "pid": 1, "tid": 1, **event} for event in EVENTS]
    (tmp_path / "w.pt.trace.json").write_text(json.dumps({"traceEvents": whole}))
    catalog = Catalog([TraceRoot(str(tmp_path))], cache=None)
    file = catalog.file(None, None, None)
    catalog.store.request(file)
    catalog.store.wait([file], None)
    return Client(standalone_app(Site(catalog, "standalone")))


def counts_of(answer: Any) -> dict[tuple[str, str], int]:
    """Count by kind and name of the table of a range."""
    table = answer["slices"]
    at = {column["key"]: number for number, column in enumerate(table["columns"])}
    return {(row[at["kind"]], row[at["name"]]): row[at["count"]] for row in table["rows"]}


def test_a_range_on_some_tracks(client: Client) -> None:
    tracks = client.get("/api/timeline/tracks").get_json()["tracks"]
    hosts = [track["key"] for track in tracks if track["kind"] == "operators"]
    result = client.get(f"/api/timeline/range?tracks={hosts[1]}").get_json()
    assert counts_of(result) == {("Operator", "aten::mm"): 1}
    assert (result["gpus"], result["names_left_out"]) == ([], 0)
    whole = client.get("/api/timeline/range").get_json()
    assert counts_of(whole)["Operator", "aten::mm"] == 2
    assert client.get("/api/timeline/range?tracks=nowhere").status_code == 400


def test_gaps_and_slices_of_the_same_name(client: Client) -> None:
    result = client.get("/api/timeline/gaps?start_ns=0&end_ns=90000").get_json()
    assert (result["count"], result["total_us"]) == (2, 65.0)
    assert {gap["gap"]["start_ns"] for gap in result["gaps"]} == {0, 65_000}
    namesakes = client.get("/api/timeline/namesakes?slice=0").get_json()["namesakes"]
    assert (namesakes["count"], namesakes["shorter"]) == (2, 1)
    assert client.get("/api/timeline/namesakes?slice=99").status_code == 404
    assert client.get("/api/timeline/gaps?start_ns=5&end_ns=5").status_code == 400


def test_arguments_of_a_slice(client: Client) -> None:
    names = [client.get(f"/api/slice/{n}").get_json()["slice"]["dur_us"] for n in range(3)]
    answer = client.get(f"/api/slice/{names.index(90)}/arguments").get_json()
    assert [(entry["name"], entry["text"]) for entry in answer["arguments"]] == [
        ("Mine", "<b>"),
        ("KEY", "1"),
    ]
    assert client.get("/api/slice/99/arguments").status_code == 404
    assert client.get("/api/slice/0/others").status_code == 404
    assert client.get("/api/slice/x/arguments").status_code == 400


def test_the_critical_path(client: Client) -> None:
    result = client.get("/api/timeline/critical_path").get_json()
    # The kernel is linked to no launch; the longer operator is what the recording ends with.
    assert (result["steps"], result["start_ns"], result["end_ns"]) == (["0"], 0, 90_000)
    pieces = [(each["name"], each["start_ns"], each["dur_ns"]) for each in result["pieces"]]
    assert (pieces, result["count"]) == ([("aten::mm", 0, 90_000)], 1)
    later = client.get("/api/timeline/critical_path?start_ns=95000&end_ns=99000").get_json()
    assert (later["pieces"], later["count"]) == ([], 0)
    assert client.get("/api/timeline/critical_path?steps=7").status_code == 400
