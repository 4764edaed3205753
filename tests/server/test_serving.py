"""Cases: a free port, the URL that is printed, answers over a real socket, Ctrl-C; addresses and
the names they answer to; places that do not exist.
"""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from torch_tb_profiler.loading.errors import OpenError
from torch_tb_profiler.server.app import LOOPBACK_HOSTS
from torch_tb_profiler.server.serving import allowed_hosts, make_app_server, server_url

Writer = Callable[..., Path]

SERVE = """
import sys
from torch_tb_profiler.server.serving import serve
serve(sys.argv[1], port=0)
"""


def test_a_process_that_serves_until_it_is_interrupted(tmp_path: Path, write_trace: Writer) -> None:
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
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        for path, status in [("/api/about", 200), ("/api/nope", 404), ("/api/runs", 200)]:
            connection.request("GET", path)
            response = connection.getresponse()
            assert (response.status, bool(json.load(response))) == (status, True)
        connection.request("HEAD", "/api/about")
        assert connection.getresponse().read() == b""
        connection.request("GET", "/api/about", headers={"Host": "evil.example"})
        assert connection.getresponse().status == 403
    finally:
        connection.close()
        server.shutdown()
        thread.join(10)
        server.server_close()


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


def test_names_that_are_answered() -> None:
    assert allowed_hosts("127.0.0.1") == LOOPBACK_HOSTS
    assert allowed_hosts("localhost") == LOOPBACK_HOSTS
    assert "127.0.0.2" in (allowed_hosts("127.0.0.2") or ())
    assert allowed_hosts("::1") == LOOPBACK_HOSTS
    assert allowed_hosts("0.0.0.0") is None
    assert allowed_hosts("build-host") is None


def test_a_place_that_does_not_exist_is_not_served(tmp_path: Path) -> None:
    with pytest.raises(OpenError) as caught:
        make_app_server(str(tmp_path / "none"), port=0, host="127.0.0.1", cache=None)
    assert caught.value.problem.code == "not_found"
