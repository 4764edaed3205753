"""Cases: the token in a header, in an address, as a cookie; wrong, missing and unusual ones; what
the answers reveal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import Client

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.access import Access, is_token, new_token
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site

Writer = Callable[..., Path]

TOKEN = "s3cret;=%&+/\\\"'"
"""Characters that mean something in addresses, cookies and headers."""


@pytest.fixture
def client(tmp_path: Path, write_trace: Writer) -> Client:
    write_trace(tmp_path / "run" / "w.pt.trace.json")
    catalog = Catalog([TraceRoot(str(tmp_path))], cache=None)
    return Client(standalone_app(Site(catalog, "standalone"), access=Access(TOKEN)))


def test_data_and_pages_require_the_token(client: Client) -> None:
    for route in ("about", "runs", "view/overview", "download", "none"):
        response = client.get(f"/api/{route}")
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert response.json is not None
        assert response.json["error"]["code"] == "token_needed"
        assert "?token=" in response.json["error"]["hint"]
    for path in ("/", "/index.html", "/assets/none.js", "/?token=", "/?token=wrong", "/none"):
        response = client.get(path)
        assert (response.status_code, response.mimetype) == (401, "text/html")
        assert "?token=" in response.text
        assert "Set-Cookie" not in response.headers
        assert "Content-Security-Policy" in response.headers
    assert client.get("/api/about?token=" + TOKEN).status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_the_authorization_header_admits(client: Client, scheme: str) -> None:
    assert client.get("/api/about", headers={"Authorization": f"{scheme} {TOKEN}"}).json
    assert client.get("/", headers={"Authorization": f"{scheme} {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer s3cret",
        f"Bearer {TOKEN}x",
        "Bearer é",
    ],
)
def test_invalid_authorization_headers(client: Client, value: str) -> None:
    assert client.get("/api/about", headers={"Authorization": value}).status_code == 401


def test_the_token_in_the_address_sets_a_cookie(client: Client) -> None:
    response = client.get("/", query_string={"token": TOKEN, "run": "a b&c", "x": ["1", "2"]})
    assert response.status_code == 303
    assert response.headers["Location"] == "./?run=a+b%26c&x=1&x=2"
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "s3cret" not in cookie
    assert client.get("/api/about").status_code == 200
    assert client.get("/").status_code == 200


def test_the_redirect_stays_on_this_server(client: Client) -> None:
    for path in ("//evil.example/", "/\\evil.example/..", "/%0d%0aX: y", "/assets/x.js"):
        response = client.get(path, query_string={"token": TOKEN})
        assert response.status_code == 303
        location = response.headers["Location"]
        assert location.startswith("./")
        assert "\\" not in location
        assert "X" not in response.headers


def test_foreign_cookies(client: Client) -> None:
    for value in (TOKEN.replace(";", ""), "", "é", "0" * 64):
        client.set_cookie("torch_tb_profiler_80", value)
        assert client.get("/api/about").status_code == 401


def test_cross_site_requests_reload(client: Client) -> None:
    # SameSite=Strict: the cookie is not sent along on the way from there, but on a reload.
    response = client.get("/", headers={"Sec-Fetch-Site": "cross-site"})
    assert 'http-equiv="refresh"' in response.text
    assert 'http-equiv="refresh"' not in client.get("/").text


def test_valid_tokens() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert all(is_token(new_token()) for _ in range(100))
    assert is_token(TOKEN)
    assert not any(is_token(text) for text in ("", "a b", "a\n", "é", "\x7f"))
