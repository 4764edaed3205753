"""A view with parameters is a package and a name in the registry: every face has them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from werkzeug.test import Client

from tests.helpers.http import get
from tools.generate_schema import reference, typescript
from torch_tb_profiler import views
from torch_tb_profiler.api import RequestError, open_trace
from torch_tb_profiler.cli import main
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.views import registry

PACKAGE = '''"""The view ``planted``."""

from torch_tb_profiler.views.parameters import Parameter

PARAMETERS = (
    Parameter("least_us", "at least µs", "US", "shortest call that is listed", "time_us"),
    Parameter("order_by", "order by", "HOW", "name or time", "choice", ("name", "time")),
)
'''
VIEW = '''"""Calls that are not short."""

from __future__ import annotations

from decimal import Decimal

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.planted import PARAMETERS
from torch_tb_profiler.views.schema import Column, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

CALLS = TableSpec(
    "calls", "Calls", "One row per call.", (Column("name", "Name", "string", None, "Which."),)
)


def planted(
    trace: Trace,
    selection: Selection,
    *,
    least_us: Decimal | None = None,
    order_by: str = "time",
) -> View:
    rows = trace.slices.filter(pl.col("dur_ns") >= (least_us or 0) * 1000)
    names = [trace.text(code) for code in rows["name_code"]]
    names = sorted(names) if order_by == "name" else names
    frame = pl.DataFrame({"name": names}, schema=CALLS.polars_schema())
    return View(tables={"calls": Table(CALLS, frame)})


SPEC = ViewSpec(
    "planted", "Planted", "Which calls are not short?", "trace", (CALLS,), planted,
    parameters=PARAMETERS,
)
'''


@pytest.fixture(autouse=True)
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The two files of the view, and its line in the registry."""
    package = tmp_path / "views" / "planted"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    (package / "view.py").write_text(VIEW, encoding="utf-8")
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(package.parent)])
    monkeypatch.setattr(registry, "VIEW_NAMES", (*registry.VIEW_NAMES, "planted"))
    yield
    for name in ("torch_tb_profiler.views.planted", "torch_tb_profiler.views.planted.view"):
        sys.modules.pop(name, None)
    if hasattr(views, "planted"):
        delattr(views, "planted")


@pytest.fixture
def folder(tmp_path: Path, write_trace: Callable[..., Path]) -> Path:
    return write_trace(tmp_path / "logs" / "w.pt.trace.json", ("b", "a")).parent


def test_over_http(folder: Path) -> None:
    client = Client(
        standalone_app(Site(Catalog([TraceRoot(str(folder))], cache=None), "standalone"))
    )
    answer = get(client, "/api/view/planted?order_by=name").json
    assert answer is not None
    assert answer["tables"]["calls"]["rows"] == [["a"], ["b"]]
    assert (answer["selection"]["order_by"], answer["selection"]["least_us"]) == ("name", None)
    assert get(client, "/api/view/planted?least_us=10.001").json["tables"]["calls"]["rows"] == []  # type: ignore[index]
    refused = get(client, "/api/view/planted?order_by=size")
    assert refused.status_code == 400
    message = "order_by: 'size' is none of name, time"
    assert refused.json["error"] == {"code": "bad_parameter", "message": message, "hint": None}  # type: ignore[index]
    assert get(client, "/api/view/overview?order_by=size").status_code == 200


def test_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*options: str) -> str:
        command = ["report", str(folder), "--no-cache", "--view", "planted", *options]
        assert main(command) == (2 if "soon" in options else 0)
        return "".join(capsys.readouterr())

    by_name = ("--order-by", "name")
    assert printed(*by_name, "--format", "csv").splitlines() == ["name", "a", "b"]
    assert json.loads(printed(*by_name, "--format", "json"))["selection"]["order_by"] == "name"
    assert "order by name" in printed(*by_name)
    assert "least_us: 'soon' is no time in µs" in printed("--least-us", "soon")
    assert main(["report", "--help"]) == 0
    assert "--least-us US" in capsys.readouterr().out


def test_in_python(folder: Path) -> None:
    with open_trace(folder, cache=False) as trace:
        assert trace.view("planted", order_by="name").frame["name"].to_list() == ["a", "b"]
        assert trace.view("planted", least_us="11").frame.is_empty()
        with pytest.raises(RequestError, match="is none of name, time"):
            trace.view("planted", order_by="size")
        with pytest.raises(TypeError, match="orderby"):
            trace.view("planted", orderby="name")


def test_in_the_pages_and_the_reference() -> None:
    specs = registry.all_views().values()
    assert "least_us: string | null;" in typescript(specs)
    assert "`least_us`" in reference(specs, {})
