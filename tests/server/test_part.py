"""``/part``: a trace is read in part from now on, and whole again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site


@pytest.fixture
def client(tmp_path: Path) -> Client:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * number,
         "dur": 5}
        for number in range(20)
    ]  # fmt: skip
    (tmp_path / "a.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    catalog = Catalog([TraceRoot(str(tmp_path))], cache=None, rescan_s=0.0)
    return Client(standalone_app(Site(catalog, "standalone")))


def get(client: Client, url: str, status: int = 200) -> Any:
    response = client.get(url)
    while response.status_code == 202:
        response = client.get(url)
    assert response.status_code == status, response.text
    return response.json


def calls(client: Client) -> int:
    table = get(client, "/api/view/operators")["tables"]["operators"]
    (row,) = table["rows"]
    return int(row[[column["key"] for column in table["columns"]].index("calls")])


def span(client: Client) -> Any:
    (run,) = get(client, "/api/runs")["runs"]
    return run["workers"][0]["spans"][0]


def version(client: Client) -> str:
    return str(span(client)["version"])


def test_a_part_and_the_whole_again(client: Client) -> None:
    assert calls(client) == 20
    whole = version(client)
    get(client, "/api/part?only_us=0:30")
    assert calls(client) == 3
    assert version(client) != whole
    assert span(client)["read_part"] == "0 s to 0.00003 s"
    get(client, "/api/part?only_us=35:60")
    assert calls(client) == 2
    get(client, "/api/part")
    assert calls(client) == 20
    assert version(client) == whole
    assert span(client)["read_part"] is None


def test_wrong_parts(client: Client) -> None:
    assert get(client, "/api/part?only_us=7", 400)["error"]["code"] == "bad_parameter"
    assert (
        get(client, "/api/part?only_us=1:7&only_steps=3", 400)["error"]["code"] == "bad_parameter"
    )
    assert get(client, "/api/part?run=none&only_us=1:7", 404)["error"]["code"] == "unknown_run"
    get(client, "/api/part?only_steps=3")
    failed = get(client, "/api/view/operators", 422)["error"]
    assert failed["code"] == "no_such_part"
