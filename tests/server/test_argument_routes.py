"""``/arguments`` and ``/read_arguments``: which there are, and reading some of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from werkzeug.test import Client

from tests.server.test_part import get, version
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site

SECRET = "hunter2"


@pytest.fixture
def client(tmp_path: Path) -> Client:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * number,
         "dur": 5, "args": {"queued": number, "vendor,kind": "x", "password": SECRET}}
        for number in range(20)
    ]  # fmt: skip
    (tmp_path / "a.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    catalog = Catalog([TraceRoot(str(tmp_path))], cache=None, rescan_s=0.0)
    return Client(standalone_app(Site(catalog, "standalone")))


def keys(client: Client) -> list[str]:
    table = get(client, "/api/view/operators")["tables"]["operators"]
    keys = [column["key"] for column in table["columns"]]
    return [key for key in keys if key.startswith("arg_") and "_m" not in key]


def test_arguments_are_listed_and_some_of_them_read(client: Client) -> None:
    answer = get(client, "/api/arguments")
    listed = {each["name"]: each for each in answer["arguments"]}
    assert (answer["slices"], answer["is_sample"], answer["can_read"]) == (20, False, True)
    assert set(listed) == {"queued", "vendor,kind", "password"}
    assert listed["queued"] == {
        "name": "queued", "count": 20, "numbers": 20, "example": "0",
        "categories": {"cpu_op": 20}, "in_model": False, "is_read": False,
    }  # fmt: skip
    assert listed["password"]["example"] is None
    assert keys(client) == []
    whole = version(client)
    get(client, r"/api/read_arguments?arguments=queued,vendor\,kind")
    assert keys(client) == ["arg_queued_sum", "arg_vendor_kind"]
    assert version(client) != whole
    assert [each["is_read"] for each in get(client, "/api/arguments")["arguments"]] == [
        False, True, True,
    ]  # fmt: skip
    rows = get(client, "/api/view/operators?filter=arg_queued_sum%3E180")["tables"]["operators"]
    assert len(rows["rows"]) == 1
    get(client, "/api/read_arguments")
    assert (keys(client), version(client)) == ([], whole)


def test_a_part_and_arguments_are_read_together(client: Client) -> None:
    get(client, "/api/part?only_us=0:30")
    get(client, "/api/read_arguments?arguments=queued")
    table = get(client, "/api/view/operators")["tables"]["operators"]
    columns = [column["key"] for column in table["columns"]]
    (row,) = table["rows"]
    assert row[columns.index("calls")] == 3
    assert row[columns.index("arg_queued_sum")] == 3
    get(client, "/api/part")
    assert keys(client) == ["arg_queued_sum"]


def test_secrets_are_not_read(client: Client) -> None:
    get(client, "/api/read_arguments?arguments=password")
    assert keys(client) == []
    assert SECRET not in client.get("/api/view/operators").text


def test_wrong_names_are_refused(client: Client) -> None:
    url = "/api/read_arguments?arguments="
    assert get(client, url + "x" * 300, 400)["error"]["code"] == "bad_parameter"
    many = ",".join(f"a{number}" for number in range(60))
    assert get(client, url + many, 400)["error"]["code"] == "bad_parameter"
    assert get(client, "/api/arguments?run=other", 404)["error"]["code"] == "unknown_run"
