"""``/open``: a skipped file becomes a run; unlisted names are unknown; a trace deleted while it is
shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site

Writer = Callable[..., Path]


@pytest.fixture
def catalog(tmp_path: Path, write_trace: Writer) -> Catalog:
    write_trace(tmp_path / "exp" / "trace.json")
    write_trace(tmp_path / "exp2" / "trace.json")
    (tmp_path / "config.json").write_text("{}")
    return Catalog([TraceRoot(str(tmp_path))], cache=None, rescan_s=0.0)


@pytest.fixture
def client(catalog: Catalog) -> Client:
    return Client(standalone_app(Site(catalog, "standalone")))


def get(client: Client, url: str, status: int = 200) -> Any:
    response = client.get(url)
    while response.status_code == 202:
        response = client.get(url)
    assert response.status_code == status
    return response.json


def test_a_skipped_file_becomes_a_run(client: Client) -> None:
    (left_out,) = get(client, "/api/runs")["left_out"]
    assert (left_out["name"], left_out["reason"]) == ("config.json", "not_a_trace")
    opened = get(client, "/api/open?name=config.json")
    assert opened == {"schema_version": 1, "run": "config", "worker": "config", "span": "default"}
    assert get(client, "/api/runs")["left_out"] == []
    error = get(client, "/api/view/overview?run=config", 422)["error"]
    assert "config.json" in error["message"]


@pytest.mark.parametrize("name", ["", "none.json", "../x.json", "%00", "a" * 3000])
def test_unlisted_names_are_unknown(client: Client, name: str) -> None:
    assert get(client, f"/api/open?name={name}", 404)["error"]["code"] == "unknown_file"


def test_a_trace_deleted_while_it_is_shown(
    client: Client, catalog: Catalog, tmp_path: Path
) -> None:
    get(client, "/api/view/overview?run=exp")
    (tmp_path / "exp" / "trace.json").unlink()
    catalog.refresh()
    error = get(client, "/api/view/overview?run=exp", 404)["error"]
    assert error["code"] == "unknown_run"
    assert "exp2" in error["hint"]
    assert [run["name"] for run in get(client, "/api/runs")["runs"]] == ["exp2"]
