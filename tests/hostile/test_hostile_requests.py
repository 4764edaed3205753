"""Parameters made to hurt: no file outside the logdir, no fault of ours, bounded answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from werkzeug.test import Client

from tests.helpers.http import get
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.routes import ROUTES
from torch_tb_profiler.server.site import Site

Writer = Callable[..., Path]

SECRET = "the content of another file"
ROUTES_OF_A_TRACE = ("views", "view/overview", "view/operators", "slice/0", "download", "perfetto")
PARAMETERS = (
    "run", "worker", "span", "steps", "start_us", "end_us", "group_by", "table", "sort", "filter",
    "offset", "limit", "format", "baseline_run", "start_ns", "end_ns", "width_px", "tracks",
    "codes",
)  # fmt: skip


@pytest.fixture
def logdir(tmp_path: Path, write_trace: Writer) -> Path:
    folder = tmp_path / "logs"
    write_trace(folder / "run" / "w.pt.trace.json")
    secret = tmp_path / "secret"
    write_trace(secret / "s.pt.trace.json", (SECRET,))
    (folder / "run" / "link.pt.trace.json").symlink_to(secret / "s.pt.trace.json")
    (folder / "linked").symlink_to(secret)
    return folder


@pytest.fixture
def client(logdir: Path) -> Client:
    catalog = Catalog([TraceRoot(str(logdir))], cache=None)
    return Client(standalone_app(Site(catalog, "standalone")))


def _hostile(tmp_path: Path) -> list[str]:
    secret = str(tmp_path / "secret" / "s.pt.trace.json")
    return [
        "..",
        "../secret",
        "../../../../etc/passwd",
        "..\\..\\secret",
        "run/../../secret",
        secret,
        "file://" + secret,
        "linked",
        "linked/s",
        "link",
        "\0",
        "%00",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        "\u202e" * 50,
        "a" * 20_000,
        "(" * 5_000,
        "~;" * 5_000,
        "," * 5_000,
        "-" * 5_000,
        "9" * 5_000,
        "1:" * 2_000,
        "nan",
        "-1",
        "1e400",
        "{}[]\"'<script>",
    ]


@pytest.mark.parametrize("route", ROUTES_OF_A_TRACE)
def test_no_parameter_reaches_another_file_or_breaks_an_answer(
    client: Client, tmp_path: Path, route: str
) -> None:
    for parameter in PARAMETERS:
        for value in _hostile(tmp_path):
            url = f"/api/{route}?{parameter}={quote(value, safe='')}"
            response = get(client, url)

            assert response.status_code in (200, 400, 404), url[:200]
            assert SECRET not in response.text, url[:200]
            assert "Traceback" not in response.text
            if response.status_code != 200:
                assert len(response.text) < 4_000, url[:200]


def test_paths_in_place_of_names(client: Client, tmp_path: Path) -> None:
    for route in sorted({*ROUTES_OF_A_TRACE, *ROUTES}):
        for value in _hostile(tmp_path):
            response = get(client, f"/api/{route}/{quote(value, safe='/')}")

            assert response.status_code in (200, 301, 308, 400, 404), (route, value[:80])
            assert SECRET not in response.text


def test_links_out_of_the_logdir_are_named_and_not_followed(client: Client) -> None:
    runs = get(client, "/api/runs").json

    assert runs is not None
    assert [run["name"] for run in runs["runs"]] == ["run"]
    assert [worker["name"] for worker in runs["runs"][0]["workers"]] == ["w"]
    assert any("link" in note for note in runs["notes"])


def test_a_very_long_query_is_answered(client: Client) -> None:
    response = get(client, "/api/view/operators?filter=" + quote("name~a;" * 20_000))

    assert response.status_code in (200, 400)
    response = get(client, "/api/view/operators?" + "&".join(f"p{i}=1" for i in range(20_000)))
    assert response.status_code in (200, 400)
