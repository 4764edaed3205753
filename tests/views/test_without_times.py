"""Views of a recording without times: no time, no rate and no share of times is in any answer."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from werkzeug.test import Client

from tests.helpers.traces import op, step, trace
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.schema import Column, Fact, Line, Series, Table, TableSpec, View
from torch_tb_profiler.views.without_times import missing_of, no_times, without_times

SAMPLE = Path(__file__).parents[1] / "data" / "execution" / "et_rank0.json.gz"


@pytest.fixture(scope="module")
def client() -> Client:
    catalog = Catalog([TraceRoot(str(SAMPLE))], cache=None)
    return Client(standalone_app(Site(catalog, "standalone")))


def get(client: Client, url: str, status: int = 200) -> dict[str, object]:
    response = client.get(url)
    while response.status_code == 202:
        response = client.get(url)
    assert response.status_code == status, response.text
    answer: dict[str, object] = json.loads(response.text)
    return answer


def test_the_first_view_is_one_that_has_something(client: Client) -> None:
    answer = get(client, "/api/views")
    assert answer["first_view"] == "operators"
    views = answer["views"]
    assert isinstance(views, list)
    (timeline,) = [view for view in views if view["name"] == "timeline"]
    assert not timeline["available"]
    assert timeline["reason"] == "An execution trace records no times."


@pytest.mark.parametrize(
    "url",
    ["timeline/tracks", "timeline/range?start_ns=0&end_ns=9", "timeline/search?q=mm", "perfetto",
     "timeline/gaps?start_ns=0&end_ns=9", "timeline/steps?steps=1", "view/iterations", "view/idle"],
)  # fmt: skip
def test_what_needs_times_says_that_there_are_none(client: Client, url: str) -> None:
    problem = get(client, f"/api/{url}", 404)["error"]
    assert "An execution trace records no times." in str(problem)


def test_a_recording_with_times_is_left_as_it_is() -> None:
    timed = trace([step(1, 0, 10), op("a", 1, 2)])
    view = View()
    assert no_times(timed) is None
    assert without_times(timed, view) is view
    assert missing_of(all_views()["iterations"], timed) is None


def test_values_of_times_are_null_and_others_stay() -> None:
    from torch_tb_profiler.api import open_trace  # noqa: PLC0415

    with open_trace(SAMPLE, cache=False) as opened:
        untimed = opened.trace
    spec = TableSpec(
        "t", "T", "Rows.",
        (
            Column("name", "Name", "string", None, "."),
            Column("calls", "Calls", "integer", "count", "."),
            Column("total_us", "Total", "number", "us", "."),
            Column("share_pct", "Share", "number", "pct", "."),
            Column("flops_pct", "FLOPs", "number", "pct", "."),
            Column("tflops_per_s", "Rate", "number", None, "."),
            Column("bytes", "Bytes", "integer", "bytes", "."),
        ),
        sort="-total_us",
    )  # fmt: skip
    rows = [("a", 1, 5.0, 1.0, 2.0, 3.0, 4), ("b", 2, 5.0, 1.0, 2.0, 3.0, 4)]
    frame = pl.DataFrame(rows, spec.polars_schema(), orient="row")
    facts = (
        Fact("host_self_us", "Host", 5.0, "us", None, "."),
        Fact("counted", "Counted", "16 in 3.02 µs", None, None, "."),
        Fact("operator_count", "Operators", 5, "count", None, "."),
        Fact("operator_calls", "Calls", 7, "count", None, "."),
    )
    series = Series("S", "line", "x", None, "y", "us", (Line("l", [0.0], [1.0]),))
    view = without_times(untimed, View({"t": Table(spec, frame)}, {"s": series}, facts))
    table = view.tables["t"]
    assert table.frame.rows() == [
        ("b", 2, None, None, 2.0, None, 4), ("a", 1, None, None, 2.0, None, 4),
    ]  # fmt: skip
    assert set(table.null_reasons) == {"total_us", "share_pct", "tflops_per_s"}
    assert [fact.value for fact in view.facts] == [None, None, 5, 7]
    assert view.series == {}
    assert view.answer == "5 operators were called 7 times. An execution trace records no times."
