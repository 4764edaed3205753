"""Cases: every route's answer and status; security headers; gzip and validators; hostile paths,
parameters and Host headers; static files; both ways of mounting.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from werkzeug.test import Client

from tests.helpers.http import get
from tests.helpers.views import use_views
from torch_tb_profiler._version import __version__
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.importers.kineto.native import native_status
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server import static_files
from torch_tb_profiler.server.app import App, standalone_app
from torch_tb_profiler.server.routes import PREFIX_ROUTES, ROUTES
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

Writer = Callable[..., Path]

EVENTS = TableSpec(
    "events",
    "Events",
    "One slice per row.",
    (
        Column("name", "Name", "string", None, "What."),
        Column("dur_us", "Duration", "number", "us", "How long."),
    ),
)


def events_view(trace: Trace, selection: Selection) -> View:
    frame = pl.DataFrame(
        {
            "name": [trace.text(code) for code in trace.slices["name_code"]],
            "dur_us": trace.slices["dur_ns"] / 1000,
        },
        schema=EVENTS.polars_schema(),
    )
    return View(tables={"events": Table(EVENTS, frame)})


def never(_trace: Trace) -> str | None:
    return "there is no such thing in this trace"


SPECS = (
    ViewSpec("events", "Events", "What happened?", "trace", (EVENTS,), events_view),
    ViewSpec("nothing", "Nothing", "Why?", "trace", (EVENTS,), events_view, missing=never),
)


@pytest.fixture
def logdir(tmp_path: Path, write_trace: Writer) -> Path:
    write_trace(tmp_path / "logs" / "run a" / "w.pt.trace.json", ("aten::mm", "<img onerror=x>"))
    write_trace(
        tmp_path / "logs" / "run b" / "w.pt.trace.json", tuple(f"op{i}" for i in range(500))
    )
    (tmp_path / "secret.pt.trace.json").write_text("secret")
    return tmp_path / "logs"


@pytest.fixture
def client(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    use_views(monkeypatch, *SPECS)
    catalog = Catalog([TraceRoot(str(logdir))], cache=None, rescan_s=0.0)
    return Client(standalone_app(Site(catalog, "standalone")))


def test_about_route(client: Client, logdir: Path) -> None:
    assert client.get("/api/about").json == {
        "schema_version": 1,
        "version": __version__,
        "decoder": native_status().description,
        "logdir": str(logdir),
        "face": "standalone",
    }


def test_runs_route(client: Client) -> None:
    get(client, "/api/view/events?run=run+a")
    body = client.get("/api/runs").json
    assert body is not None
    assert body["discovering"] is False
    assert body["problem"] is None
    (span,) = body["runs"][0]["workers"][0]["spans"]
    assert body["runs"][0]["name"] == "run a"
    assert set(span) == {
        "name", "file", "format", "size_bytes", "state", "progress", "mb_per_s", "eta_s", "error",
        "retry_s", "version", "modified_s", "recorded_s", "path", "format_label", "read_part",
    }  # fmt: skip
    assert (span["state"], span["progress"], span["format"]) == ("ready", 1.0, "kineto")
    assert body["runs"][1]["workers"][0]["spans"][0]["state"] == "queued"


def test_views_route(client: Client) -> None:
    body = get(client, "/api/views?run=run+a").json
    assert body is not None
    assert [(view["name"], view["available"], view["reason"]) for view in body["views"]] == [
        ("events", True, None),
        ("nothing", False, "there is no such thing in this trace"),
    ]


def test_a_view_as_json(client: Client) -> None:
    body = get(client, "/api/view/events?run=run+a&sort=-name&limit=1").json
    assert body is not None
    assert body["trace"] == {"run": "run a", "worker": "w", "span": "default"}
    table = body["tables"]["events"]
    assert table["rows"] == [["aten::mm", 10.0]]
    assert table["row_count"] == 2
    assert body["selection"]["steps"] is None


def test_a_table_as_csv(client: Client) -> None:
    response = get(client, "/api/view/events?run=run+a&format=csv&filter=name~mm")
    assert response.mimetype == "text/csv"
    assert response.data.decode().splitlines() == ["name,dur_us", "aten::mm,10.0"]
    assert "events_events.csv" in response.headers["Content-Disposition"]


def test_a_slice_as_json(client: Client) -> None:
    body = get(client, "/api/slice/1?run=run+a").json
    assert body is not None
    assert body["slice"]["name"] == "<img onerror=x>"
    assert body["slice"]["dur_us"] == 10.0
    assert body["trace"]["run"] == "run a"


def test_the_file_is_downloaded_unchanged(client: Client, logdir: Path) -> None:
    response = client.get("/api/download?run=run+a")
    assert response.data == (logdir / "run a" / "w.pt.trace.json").read_bytes()
    assert "w.pt.trace.json" in response.headers["Content-Disposition"]
    assert response.headers["Content-Length"] == str(len(response.data))
    assert client.head("/api/download?run=run+a").data == b""


def test_the_selection_for_perfetto(client: Client) -> None:
    response = get(client, "/api/perfetto?run=run+a&end_us=15")
    assert [e["name"] for e in json.loads(response.data)["traceEvents"] if e["ph"] == "X"] == [
        "aten::mm"
    ]
    assert "run_a_w_default.json" in response.headers["Content-Disposition"]
    packed = get(client, "/api/perfetto?run=run+b", headers={"Accept-Encoding": "gzip"})
    assert len(json.loads(gzip.decompress(packed.data))["traceEvents"]) >= 500


def test_a_trace_that_is_being_parsed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch_tb_profiler.server.routes.WAIT_S", 0.0)
    response = client.get("/api/view/events?run=run+b")
    assert response.status_code == 202
    assert response.json is not None
    assert response.json["span"]["state"] in ("queued", "parsing")


@pytest.mark.parametrize(
    ("url", "status", "code"),
    [
        ("/api/nonsense", 404, "unknown_route"),
        ("/api/", 404, "unknown_route"),
        ("/api/view", 404, "unknown_route"),
        ("/api/view/", 404, "unknown_view"),
        ("/api/view/evnts", 404, "unknown_view"),
        ("/api/view/events/more", 404, "unknown_view"),
        ("/api/view/../../../etc/passwd", 404, None),
        ("/api/view/events?run=../secret", 404, "unknown_run"),
        ("/api/view/events?run=/etc", 404, "unknown_run"),
        ("/api/view/events?run=run+a&worker=..%2F..%2Fsecret", 404, "unknown_worker"),
        ("/api/view/events?run=run+a&span=%00", 404, "unknown_span"),
        ("/api/view/events?run=" + "x" * 5000, 400, "bad_parameter"),
        ("/api/view/events?table=x", 404, "unknown_table"),
        ("/api/view/events?format=xml", 400, "bad_parameter"),
        ("/api/view/events?sort=nope", 400, "bad_parameter"),
        ("/api/view/events?filter=nope=1", 400, "bad_parameter"),
        ("/api/view/events?limit=-1", 400, "bad_parameter"),
        ("/api/view/events?limit=1e9", 400, "bad_parameter"),
        ("/api/view/events?limit=" + "9" * 400, 400, "bad_parameter"),
        ("/api/view/events?offset=%D9%A3", 400, "bad_parameter"),
        ("/api/view/events?start_us=nan", 400, "bad_parameter"),
        ("/api/view/events?start_us=inf", 400, "bad_parameter"),
        ("/api/view/events?end_us=1e300", 400, "bad_parameter"),
        ("/api/view/events?end_us=yesterday", 400, "bad_parameter"),
        ("/api/view/events?start_us=5&end_us=4", 400, "bad_parameter"),
        ("/api/view/nothing", 404, "view_unavailable"),
        ("/api/perfetto?steps=99", 400, "bad_parameter"),
        ("/api/slice/x", 400, "bad_parameter"),
        ("/api/slice/-1", 400, "bad_parameter"),
        ("/api/slice/99", 404, "unknown_slice"),
        ("/api/slice/" + "9" * 30, 400, "bad_parameter"),
        ("/api/download?run=../secret", 404, "unknown_run"),
        ("/api/download?run=nope", 404, "unknown_run"),
    ],
)
def test_hostile_and_invalid_requests(
    client: Client, url: str, status: int, code: str | None
) -> None:
    response = get(client, url)
    assert response.status_code == status
    assert response.mimetype == "application/json"
    assert response.json is not None
    error = response.json["error"]
    assert set(error) == {"code", "message", "hint"}
    assert code is None or error["code"] == code
    assert "Traceback" not in response.text
    assert len(response.text) < 2000


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_get_and_head_are_supported(client: Client, method: str) -> None:
    response = client.open("/api/runs", method=method)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"


def test_head_has_no_body(client: Client) -> None:
    response = client.head("/api/about")
    assert (response.status_code, response.data) == (200, b"")
    assert int(response.headers["Content-Length"]) > 0


def test_internal_errors_show_no_details(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(_trace: Trace, _selection: Selection) -> View:
        raise ZeroDivisionError("/home/somebody/secret")

    spec = ViewSpec("faulty", "F", "?", "trace", (EVENTS,), faulty)
    use_views(monkeypatch, spec)
    response = get(client, "/api/view/faulty")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert response.json is not None
    assert response.json["error"]["code"] == "internal"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(MemoryError, 422, "out_of_memory"), (pl.exceptions.PanicException, 500, "internal")],
)
def test_lack_of_memory_and_panics_are_answers(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    error: type[BaseException],
    status: int,
    code: str,
) -> None:
    def faulty(_trace: Trace, _selection: Selection) -> View:
        raise error("of polars")

    use_views(monkeypatch, ViewSpec("faulty", "F", "?", "trace", (EVENTS,), faulty))
    response = get(client, "/api/view/faulty")
    assert response.json is not None
    assert (response.status_code, response.json["error"]["code"]) == (status, code)
    assert (response.json["error"]["hint"] or "").endswith(".")


@pytest.mark.parametrize("url", ["/", "/api/about", "/api/nope", "/api/download?run=run+a"])
def test_every_answer_has_security_headers(client: Client, url: str) -> None:
    headers = client.get(url).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert not re.search(r"https?:|\*|unsafe-eval", policy)
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Type"]


def test_gzip_only_if_accepted(client: Client) -> None:
    url = "/api/view/events?run=run+b"
    plain = get(client, url)
    assert "Content-Encoding" not in plain.headers
    packed = get(client, url, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 3
    assert "Accept-Encoding" in packed.headers["Vary"]
    refused = get(client, url, headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in refused.headers


def test_an_unchanged_answer_is_not_sent_again(client: Client) -> None:
    for encoding in ("identity", "gzip"):
        first = get(client, "/api/view/events?run=run+b", headers={"Accept-Encoding": encoding})
        tag = first.headers["ETag"]
        again = get(
            client,
            "/api/view/events?run=run+b",
            headers={"Accept-Encoding": encoding, "If-None-Match": tag},
        )
        assert (again.status_code, again.data) == (304, b"")
    other = get(client, "/api/view/events?run=run+a", headers={"If-None-Match": tag})
    assert other.status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:6007", 200),
        ("127.0.0.1:6007", 200),
        ("[::1]:6007", 200),
        ("LOCALHOST", 200),
        ("traces.localhost", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example:6007", 403),
        ("localhost.evil.example", 403),
        ("[::1].evil.example", 403),
        ("[", 403),
        ("", 403),
    ],
)
def test_only_host_names_of_this_machine_are_answered(
    client: Client, host: str, status: int
) -> None:
    response = client.get("/api/about", headers={"Host": host})
    assert response.status_code == status


def test_pages_are_served_with_their_types(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>page")
    (folder / "index.js").write_text("export const x = 1;" * 200)
    (folder / "assets" / "app-1234.js").write_text("x")
    monkeypatch.setattr(static_files, "STATIC_FOLDER", folder)
    static_files._files.cache_clear()
    assert client.get("/").text == "<!doctype html>page"
    assert client.get("/index.html").mimetype == "text/html"
    module = client.get("/index.js", headers={"Accept-Encoding": "gzip"})
    assert module.mimetype == "text/javascript"
    assert gzip.decompress(module.data) == (folder / "index.js").read_bytes()
    assert "immutable" in client.get("/assets/app-1234.js").headers["Cache-Control"]
    assert client.get("/index.js").headers["Cache-Control"] == "no-cache"
    for url in ("/../secret.pt.trace.json", "/assets/../../secret.pt.trace.json", "/nope.js"):
        assert client.get(url).status_code == 404
    static_files._files.cache_clear()


def test_missing_pages_explain_how_to_build_them(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_files, "STATIC_FOLDER", tmp_path / "none")
    static_files._files.cache_clear()
    response = client.get("/")
    assert response.status_code == 503
    assert "not built" in response.text
    static_files._files.cache_clear()


def test_mounted_in_tensorboard_pages_and_routes_share_a_prefix(logdir: Path) -> None:
    prefix = "/data/plugin/pytorch_profiler/"
    catalog = Catalog([TraceRoot(str(logdir))], cache=None)
    app = App(
        Site(catalog, "tensorboard"), api_prefix=prefix, page_prefix=prefix, allowed_hosts=None
    )
    response = Client(app).get(f"{prefix}about", headers={"Host": "a.colleague:6006"})
    assert response.json is not None
    assert response.json["face"] == "tensorboard"
    assert Client(app).get("/about").status_code == 404


def test_undecodable_names_are_answered_as_text(
    client: Client, logdir: Path, write_trace: Writer
) -> None:
    write_trace(logdir / "bad \udcff name" / "w.pt.trace.json")
    body = json.loads(client.get("/api/runs").data)
    names = [run["name"] for run in body["runs"]]
    for _ in range(50):
        names = [run["name"] for run in json.loads(client.get("/api/runs").data)["runs"]]
        if len(names) == 3:
            break
        time.sleep(0.02)
    assert "bad � name" in names
    assert get(client, "/api/views?run=bad+%EF%BF%BD+name").status_code == 200


def test_every_route_is_documented() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "internals.md"
    text = page.read_text(encoding="utf-8")
    for route in [*ROUTES, *PREFIX_ROUTES]:
        assert f"`/{route}" in text
