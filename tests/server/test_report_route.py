"""``/report.html``: the file of the page that is shown, and nothing that a link puts into it."""

from __future__ import annotations

from pathlib import Path

import pytest
from werkzeug.test import Client, TestResponse

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site


@pytest.fixture(scope="module")
def client(samples: Path) -> Client:
    return Client(
        standalone_app(Site(Catalog([TraceRoot(str(samples))], cache=None), "standalone"))
    )


RUN = {"run": "kineto_resnet50_nw0", "worker": "worker0"}


def _report(client: Client, **query: str) -> TestResponse:
    while (
        answer := client.get("/api/report.html", query_string={**RUN, **query})
    ).status_code == 202:
        pass
    return answer


def test_it_is_one_file_to_save(client: Client) -> None:
    answer = _report(client, steps="6")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Content-Disposition"] == "attachment; filename=report.html"
    assert "steps 6" in answer.text.lower()
    assert 'id="kernels"' in answer.text


def test_only_the_chosen_views_and_tables_are_in_it(client: Client) -> None:
    page = _report(client, views="operators,idle", tables="operators,idle_causes").text
    assert 'id="operators"' in page
    assert 'id="kernels"' not in page
    assert _report(client, views="nonsense").status_code == 404


def test_notes_of_the_timeline_are_in_it_with_their_picture(client: Client) -> None:
    notes = "100000000 why <b>here</b>?\n150000000@17 and here\nmalformed"
    page = _report(client, views="idle", notes=notes).text
    assert "why &lt;b&gt;here&lt;/b&gt;?" in page
    assert "at 150 ms" in page
    assert "malformed" not in page


def test_a_comparison(client: Client) -> None:
    other = {f"baseline_{key}": value for key, value in RUN.items()}
    page = _report(client, span="2", baseline_span="1", **other).text
    assert "Comparison of two PyTorch profiles" in page
    assert "kineto_resnet50_nw0 · worker0 · span 1" in page


@pytest.mark.parametrize(
    ("address", "is_shown"),
    [
        ("http://localhost/#view=overview&run=a", True),
        ("http://elsewhere/#view=overview", False),
        ("javascript:alert(1)//localhost", False),
        ("http://localhost@elsewhere/", False),
        ("http://[", False),
    ],
)
def test_only_an_address_of_this_server_is_taken(
    client: Client, address: str, is_shown: bool
) -> None:
    page = _report(client, views="idle", address=address).text
    assert ("Open it live" in page) is is_shown
    assert ("elsewhere" in page) is False


def test_a_token_does_not_get_into_the_file(client: Client) -> None:
    page = _report(client, views="idle", address="http://localhost/?token=secret#view=idle").text
    assert "secret" not in page
    assert "http://localhost/#view=idle" in page
