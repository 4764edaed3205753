"""``/sql`` and ``/sql/tables``: answers, errors, and a client that goes away."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from werkzeug.test import Client, EnvironBuilder
from werkzeug.wrappers import Request

from tests.helpers.sockets import PATIENCE_S, connected, serving
from tests.server.test_part import get
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.client_connection import CLIENT_SOCKET, is_client_gone
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.sql import process


@pytest.fixture
def site(samples: Path) -> Site:
    catalog = Catalog([TraceRoot(str(samples / "dlrm_8_ranks"))], cache=None, rescan_s=60.0)
    return Site(catalog, "standalone")


def ask(client: Client, query: str, more: str = "", status: int = 200) -> Any:
    return get(client, f"/api/sql?query={quote(query)}{more}", status)


def test_answers_are_views_with_one_table(site: Site) -> None:
    client = Client(standalone_app(site))
    answer = ask(client, "select worker, count(*) as n from raw.steps group by all order by 1")
    table = answer["tables"]["answer"]
    assert (answer["view"], answer["trace"]["worker"]) == ("sql", None)
    assert [row[0] for row in table["rows"]] == [f"worker{n}_step_12" for n in range(8)]
    assert [(each["key"], each["type"]) for each in table["columns"]] == [
        ("worker", "string"), ("n", "integer")
    ]  # fmt: skip
    one = ask(client, "select distinct worker from raw.steps", "&worker=worker3_step_12")
    assert one["tables"]["answer"]["rows"] == [["worker3_step_12"]]
    cut = ask(client, "select id from raw.slices", "&max_rows=2")
    assert len(cut["tables"]["answer"]["rows"]) == 2
    assert [note["code"] for note in cut["notes"]] == ["rows_cut"]


def test_errors_have_codes_and_states(site: Site) -> None:
    client = Client(standalone_app(site))
    for query, more, status, code in (
        ("select", "", 400, "sql_failed"),
        ("select nme from raw.slices", "", 400, "sql_column"),
        ("select * from slics", "", 404, "unknown_table"),
        ("copy raw.slices to '/tmp/x'", "", 400, "sql_refused"),
        ("select 1", "&max_rows=0", 400, "bad_parameter"),
        ("select 1", "&max_rows=1000000", 400, "bad_parameter"),
        ("select 1", "&worker=nobody", 404, "unknown_worker"),
        ("x" * 20_001, "", 400, "sql_text"),
        ("", "", 400, "sql_text"),
    ):
        error = ask(client, query, more, status)["error"]
        assert error["code"] == code or (query == "select" and error["code"] == "sql_syntax")
    assert get(client, "/api/sql/others", 404)["error"]["code"] == "unknown_route"


def test_tables_and_examples_are_listed(site: Site) -> None:
    client = Client(standalone_app(site))
    answer = get(client, "/api/sql/tables")
    tables = {table["name"]: table for table in answer["tables"]}
    columns = {each["key"]: each for each in tables["raw.slices"]["columns"]}
    assert (columns["dur_ns"]["unit"], columns["dur_ns"]["help"]) == ("ns", "Duration.")
    assert tables["operators.operators"]["short_name"] == "operators"
    assert tables["raw.operators"]["short_name"] is None
    assert answer["missing_reason"] is None
    for example in answer["examples"]:
        ask(client, example["query"])


def test_without_duckdb_the_list_says_so(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_tb_profiler.sql.query.find_spec", lambda _name: None)
    client = Client(standalone_app(site))
    assert "DuckDB" in get(client, "/api/sql/tables")["missing_reason"]
    error = ask(client, "select 1", status=400)["error"]
    assert (error["code"], "torch-tb-profiler[sql]" in error["hint"]) == ("missing_package", True)


def test_a_client_that_goes_away_ends_its_query(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[float] = []
    kill = process.QueryProcess.kill

    def note_and_kill(self: process.QueryProcess) -> None:
        killed.append(time.monotonic())
        kill(self)

    monkeypatch.setattr(process.QueryProcess, "kill", note_and_kill)
    query = quote(
        "select count(*) from range(1000000) a, range(1000000) b where a.range * b.range % 7 = 3"
    )
    with serving(standalone_app(site)) as server:
        client = connected(server)
        client.sendall(f"GET /api/sql?query={query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        time.sleep(3)
        assert not killed
        client.close()
        end_s = time.monotonic() + min(PATIENCE_S, 15)
        while not killed and time.monotonic() < end_s:
            time.sleep(0.05)
    assert killed


def test_a_connection_is_gone_when_it_is_closed() -> None:
    own, other = socket.socketpair()
    request = Request(EnvironBuilder(environ_overrides={CLIENT_SOCKET: own}).get_environ())
    assert not is_client_gone(request)
    other.sendall(b"GET")
    assert not is_client_gone(request)
    own.recv(3)
    other.close()
    assert is_client_gone(request)
    own.close()
    assert is_client_gone(request)
    assert not is_client_gone(Request(EnvironBuilder().get_environ()))


def test_json_is_the_same_as_of_the_command(
    site: Site, samples: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    from torch_tb_profiler.cli import main  # noqa: PLC0415

    query = "select worker, sum(dur_ns) as total_ns from raw.slices group by all order by 1"
    answer = ask(Client(standalone_app(site)), query)
    path = str(samples / "dlrm_8_ranks")
    assert main(["sql", path, query, "--format", "json", "--no-cache"]) == 0
    assert json.loads(capsysbinary.readouterr().out) == answer


def test_selection_and_grouping_apply_to_views(samples: Path) -> None:
    catalog = Catalog([TraceRoot(str(samples / "kineto_resnet50_nw0"))], cache=None, rescan_s=60.0)
    client = Client(standalone_app(Site(catalog, "standalone")))
    query = "select sum(calls), count(input_shape) > 0 from operators"
    whole = ask(client, query)["tables"]["answer"]["rows"][0]
    answer = ask(client, query, "&steps=6&group_by=name%2Binput_shape")
    (calls, has_shapes) = answer["tables"]["answer"]["rows"][0]
    view = get(client, "/api/view/operators?steps=6")["tables"]["operators"]
    at = [column["key"] for column in view["columns"]].index("calls")
    assert calls == sum(row[at] for row in view["rows"]) < whole[0]
    assert (has_shapes, whole[1]) == (True, False)
    assert answer["selection"]["steps"] == "6"
    assert [note["code"] for note in answer["notes"]] == ["sql_selection"]
    error = ask(client, query, "&group_by=x", 400)["error"]
    assert error["code"] == "bad_parameter"
    assert "name+input_shape" in error["hint"]
