"""Cases: a free port, the printed URL, answers over a real socket, Ctrl-C, also with running
requests; many clients on one trace; tokens; addresses and host names; missing paths."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.helpers.sockets import PATIENCE_S, answered, connected, running
from torch_tb_profiler.requests.errors import OpenError
from torch_tb_profiler.server.app import LOOPBACK_HOSTS
from torch_tb_profiler.server.serving import allowed_hosts, make_app_server, server_url

Writer = Callable[..., Path]

SERVE = """
import sys
from torch_tb_profiler.server.serving import serve
serve(sys.argv[1], port=0)
"""


def test_serving_until_an_interrupt(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "r" / "w.pt.trace.json")
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", SERVE, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{url}api/about", timeout=10) as response:
            assert json.load(response)["logdir"] == str(tmp_path)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == 0
    assert "Stopped." in output
    assert errors == ""


def test_several_answers_over_one_connection(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "r" / "w.pt.trace.json")
    server = make_app_server(str(tmp_path), port=0, host="127.0.0.1", cache=None)
    with (
        running(server),
        contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        ) as connection,
    ):
        for path, status in [("/api/about", 200), ("/api/nope", 404), ("/api/runs", 200)]:
            connection.request("GET", path)
            response = connection.getresponse()
            assert (response.status, bool(json.load(response))) == (status, True)
            assert not response.will_close
        connection.request("HEAD", "/api/about")
        assert connection.getresponse().read() == b""
        connection.request("GET", "/api/about", headers={"Host": "evil.example"})
        assert connection.getresponse().status == 403


def test_an_ipv6_address(tmp_path: Path) -> None:
    try:
        server = make_app_server(str(tmp_path), port=0, host="::1", cache=None)
    except OSError:
        pytest.skip("needs IPv6")
    with (
        running(server),
        urllib.request.urlopen(
            f"{server_url(server, '::1')}api/about", timeout=PATIENCE_S
        ) as response,
    ):
        assert response.status == 200


def test_ctrl_c_ends_running_requests(tmp_path: Path) -> None:
    (tmp_path / "big.pt.trace.json").write_bytes(b'{"traceEvents": [' + bytes(64 << 20))
    with (
        subprocess.Popen(
            [sys.executable, "-u", "-c", SERVE, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        contextlib.ExitStack() as stack,
    ):
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2].strip().strip("/"))
        for _ in range(4):
            client = stack.enter_context(
                connected(port, b"GET /api/download HTTP/1.1\r\nHost: localhost\r\n\r\n")
            )
            assert client.recv(15) == b"HTTP/1.1 200 OK"  # and reads no further
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output, errors) == (0, "Stopped.\n", "")


def test_many_clients_of_an_unopened_trace(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "r" / "w.pt.trace.json", tuple(f"op{i % 50}" for i in range(5000)))
    server = make_app_server(str(tmp_path), port=0, host="127.0.0.1", cache=None)
    barrier = threading.Barrier(100)

    def ask(number: int) -> int:
        path = f"/api/view/operators?limit={number % 10}"
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        ) as connection:
            barrier.wait(PATIENCE_S)
            while True:
                connection.request("GET", path)
                response = connection.getresponse()
                body = json.load(response)
                if response.status != 202:
                    return len(body["tables"]["operators"]["rows"]) - number % 10

    with running(server), ThreadPoolExecutor(100) as pool:
        assert set(pool.map(ask, range(100))) == {0}


def test_the_token_is_in_the_url_and_in_no_log(
    tmp_path: Path, write_trace: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    write_trace(tmp_path / "r" / "w.pt.trace.json")
    server = make_app_server(str(tmp_path), port=0, host="127.0.0.1", cache=None, token="a+b")
    with caplog.at_level(logging.DEBUG), running(server) as port:
        assert server_url(server, "127.0.0.1", "a+b") == f"http://127.0.0.1:{port}/?token=a%2Bb"
        for target in ("/?token=a%2Bb", "/api/about?token=a%2Bb", "/%ff?token=a%2Bb"):
            with connected(port, f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()) as c:
                assert answered(c)[0] in (303, 401)
    assert "a%2Bb" not in caplog.text
    assert "a+b" not in caplog.text


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/"),
        ("::1", "http://[::1]:80/"),
        ("0.0.0.0", "http://localhost:80/"),
    ],
)
def test_the_url_opens_in_a_browser_on_this_machine(host: str, url: str) -> None:
    class Server:
        port = 80

    assert server_url(Server(), host) == url  # type: ignore[arg-type]


def test_allowed_host_names() -> None:
    assert allowed_hosts("127.0.0.1") == LOOPBACK_HOSTS
    assert allowed_hosts("localhost") == LOOPBACK_HOSTS
    assert "127.0.0.2" in (allowed_hosts("127.0.0.2") or ())
    assert allowed_hosts("::1") == LOOPBACK_HOSTS
    assert allowed_hosts("0.0.0.0") is None
    assert allowed_hosts("build-host") is None


def test_additional_host_names_are_answered() -> None:
    names = ["traces.example.org"]
    assert allowed_hosts("127.0.0.1", names) == LOOPBACK_HOSTS | {"traces.example.org"}
    assert allowed_hosts("0.0.0.0", names) == LOOPBACK_HOSTS | {"traces.example.org"}
    assert "Build-Host".lower() in (allowed_hosts("Build-Host", names) or ())


def test_a_server_answers_only_to_its_host_names(tmp_path: Path) -> None:
    server = make_app_server(
        str(tmp_path),
        port=0,
        host="127.0.0.1",
        cache=None,
        allowed_names=["traces.example.org"],
    )
    status_of = {
        "traces.example.org": 200,
        "Traces.Example.Org:443": 200,
        "localhost": 200,
        "evil.example": 403,
        "traces.example.org.evil.example": 403,
        "a.traces.example.org": 403,
    }
    with running(server):
        for name, status in status_of.items():
            with contextlib.closing(
                http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_S)
            ) as connection:
                connection.request("GET", "/api/about", headers={"Host": name})
                response = connection.getresponse()
                body = json.load(response)
                assert (name, response.status) == (name, status)
                assert status == 200 or "--allow-host" in body["error"]["hint"]


def test_a_missing_path_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(OpenError) as caught:
        make_app_server(str(tmp_path / "none"), port=0, host="127.0.0.1", cache=None)
    assert caught.value.problem.code == "not_found"
