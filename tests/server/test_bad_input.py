"""Cases: each invalid or unusual input gets a clear answer, and other files are unaffected: not
JSON, empty, no trace in the folder, missing path, no permission, no steps, no GPU, GPU only, a step
of zero length, a large device number, damaged files, deleted files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from tests.helpers.http import get
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site

Writer = Callable[..., Path]

OPERATOR = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 5}
LAUNCH = {
    "ph": "X",
    "cat": "cuda_runtime",
    "name": "cudaLaunchKernel",
    "pid": 1,
    "tid": 1,
    "ts": 11,
    "dur": 2,
    "args": {"correlation": 5},
}
KERNEL = {
    "ph": "X",
    "cat": "kernel",
    "name": "gemm",
    "pid": 200,
    "tid": 7,
    "ts": 20,
    "dur": 8,
    "args": {"correlation": 5, "device": 200, "stream": 7},
}
EMPTY_STEP = {**OPERATOR, "cat": "user_annotation", "name": "ProfilerStep#3", "dur": 0}


@pytest.fixture
def logdir(tmp_path: Path, write_trace: Writer) -> Path:
    write_trace(tmp_path / "logs" / "good" / "w.pt.trace.json", ("aten::add",))
    return tmp_path / "logs"


def client_of(location: Path) -> Client:
    catalog = Catalog([TraceRoot(str(location))], cache=None, rescan_s=0.0)
    return Client(standalone_app(Site(catalog, "standalone")))


def error_of(response: TestResponse) -> dict[str, Any]:
    assert response.json is not None
    error: dict[str, Any] = response.json["error"]
    return error


def write_events(logdir: Path, events: list[dict[str, Any]]) -> None:
    path = logdir / "odd" / "w.pt.trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"traceEvents": events}))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"this is no JSON", "w.pt.trace.json"),
        (b"\x00\x01\x02" * 100, "w.pt.trace.json"),
        (b"[1, 2, 3]", "w.pt.trace.json"),
        (b'{"some": "json"}', "w.pt.trace.json"),
        (b"<html>Sign in</html>", "web page"),
    ],
)
def test_a_file_that_is_not_a_trace(logdir: Path, content: bytes, says: str) -> None:
    (logdir / "bad").mkdir()
    (logdir / "bad" / "w.pt.trace.json").write_bytes(content)
    client = client_of(logdir)
    response = get(client, "/api/view/overview?run=bad")
    assert response.status_code == 422
    error = error_of(response)
    assert says in error["message"]
    assert error["hint"]
    assert get(client, "/api/view/overview?run=good").status_code == 200
    runs = client.get("/api/runs").json
    assert runs is not None
    states = {run["name"]: run["workers"][0]["spans"][0] for run in runs["runs"]}
    assert (states["bad"]["state"], states["good"]["state"]) == ("failed", "ready")
    assert states["bad"]["error"] == error


def test_every_damaged_file_is_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    data = Path(__file__).resolve().parent.parent / "data"
    for file in [*data.glob("malformed_derived/*.json*"), *data.glob("torch213_malformed/*.json")]:
        if file.name == "manifest.json":
            continue
        stem, _, ending = file.name.partition(".json")
        shutil.copy(file, tmp_path / f"{stem}.pt.trace.json{ending}")
    client = client_of(tmp_path)
    runs = client.get("/api/runs").json
    assert runs is not None
    (run,) = runs["runs"]
    statuses = {
        worker["name"]: get(client, f"/api/views?worker={worker['name']}").status_code
        for worker in run["workers"]
    }
    refused = {name for name, status in statuses.items() if status != 200}
    assert refused == {"empty_file", "html_error_page", "lfs_pointer"}
    assert len(statuses) == 40


def test_a_folder_without_traces(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    client = client_of(tmp_path)
    runs = client.get("/api/runs")
    assert runs.status_code == 200
    assert runs.json is not None
    assert runs.json["runs"] == []
    assert runs.json["problem"]["code"] == "no_traces"
    assert "*.pt.trace.json" in runs.json["problem"]["hint"]
    response = get(client, "/api/view/overview")
    assert (response.status_code, error_of(response)["code"]) == (404, "no_traces")


def test_a_missing_path(tmp_path: Path) -> None:
    response = get(client_of(tmp_path / "nowhere"), "/api/view/overview")
    assert (response.status_code, error_of(response)["code"]) == (404, "not_found")
    assert "nowhere" in error_of(response)["message"]


def test_a_file_without_permission(logdir: Path, write_trace: Writer) -> None:
    secret = write_trace(logdir / "closed" / "w.pt.trace.json")
    secret.chmod(0)
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    client = client_of(logdir)
    response = get(client, "/api/view/overview?run=closed")
    assert (response.status_code, error_of(response)["code"]) == (403, "permission_denied")
    assert get(client, "/api/view/overview?run=good").status_code == 200


def test_a_deleted_file(logdir: Path) -> None:
    client = client_of(logdir)
    assert client.get("/api/runs").status_code == 200
    (logdir / "good" / "w.pt.trace.json").unlink()
    for url in ("/api/view/overview?run=good", "/api/download?run=good"):
        assert get(client, url).status_code == 404


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([OPERATOR], id="no steps, no GPU"),
        pytest.param([KERNEL], id="GPU only, device 200"),
        pytest.param([OPERATOR, LAUNCH, KERNEL], id="device 200"),
        pytest.param([EMPTY_STEP], id="a step of no length alone"),
        pytest.param([EMPTY_STEP, OPERATOR, LAUNCH, KERNEL], id="a step of no length"),
        pytest.param([], id="no events"),
        pytest.param([{**OPERATOR, "ts": 9e15, "dur": 9e15}], id="the year 2255"),
        pytest.param([{**OPERATOR, "dur": -5}, {**OPERATOR, "ts": "NaN"}], id="absurd times"),
    ],
)
def test_unusual_traces_have_every_view_or_a_reason(
    logdir: Path, events: list[dict[str, Any]]
) -> None:
    write_events(logdir, events)
    client = client_of(logdir)
    response = get(client, "/api/views?run=odd")
    if response.status_code == 422:
        assert error_of(response)["message"]
        return
    assert response.json is not None
    for view in response.json["views"]:
        if view["scope"] != "trace":
            continue
        answer = get(client, f"/api/view/{view['name']}?run=odd")
        if view["available"]:
            assert answer.status_code == 200, (view["name"], answer.text)
        else:
            assert view["reason"]
            assert error_of(answer)["code"] == "view_unavailable"
