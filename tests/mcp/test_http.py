"""Over HTTP: the SDK's client with the token; without it, with another one, from another site,
under another name, with a large body: refused before anything is answered."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

TOKEN = "not-a-secret-of-anybody"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.fixture(scope="module")
def port(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    command = [sys.executable, "-u", "-m", "torch_tb_profiler", "mcp", str(samples), "--http"]
    command += ["--port", "0", "--token", TOKEN, "--cache-dir", str(tmp_path_factory.mktemp("c"))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/mcp")
        assert TOKEN in process.stdout.readline()
        yield int(address.split(":")[2].removesuffix("/mcp"))
    finally:
        process.terminate()
        process.wait(20)


def test_the_client_with_the_token(port: int) -> None:
    async def run() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http_client:
            transport = streamable_http_client(
                f"http://127.0.0.1:{port}/mcp", http_client=http_client
            )
            async with Client(transport) as client:
                assert len((await client.list_tools()).tools) == 8
                result = await client.call_tool("list_traces", {})
                (content,) = result.content
                assert isinstance(content, TextContent)
                assert "h100_bert_small" in content.text

    anyio.run(run)


def answer(
    port: int, headers: dict[str, str] | None = None, body: bytes | None = None
) -> tuple[int, str]:
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {TOKEN}",
    }
    sent |= headers or {}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", "/mcp", json.dumps(LIST).encode() if body is None else body,
                           {name: value for name, value in sent.items() if value})  # fmt: skip
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Authorization": ""}, 401, "token_needed"),
        ({"Authorization": "Bearer wrong"}, 401, "token_needed"),
        ({"Authorization": f"Basic {TOKEN}"}, 401, "token_needed"),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401, "token_needed"),
        ({"Host": "evil.example"}, 403, "forbidden_host"),
        ({"Host": "127.0.0.1.evil.example"}, 403, "forbidden_host"),
        ({"Origin": "https://evil.example"}, 403, "forbidden_origin"),
        ({"Origin": "http://localhost.evil.example"}, 403, "forbidden_origin"),
        ({"Origin": "null"}, 403, "forbidden_origin"),
        ({"Origin": "http://[::1"}, 403, "forbidden_origin"),
    ],
)
def test_refusals(port: int, headers: dict[str, str], status: int, code: str) -> None:
    got, text = answer(port, headers)
    assert got == status
    assert json.loads(text)["error"]["code"] == code
    assert "list_traces" not in text


def test_own_pages_may_call(port: int) -> None:
    assert answer(port, {"Origin": f"http://localhost:{port}"})[0] not in (401, 403)


def test_a_large_body_is_refused(port: int) -> None:
    assert answer(port, body=b'{"x": "' + b"a" * 1_000_000 + b'"}')[0] == 413
