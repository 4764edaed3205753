"""Cases: slow, idle, greedy and many clients; requests that break the rules or use rare ones;
limits of threads and memory."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.helpers.sockets import PATIENCE_S, all_bytes, answered, connected, serving
from torch_tb_profiler.server.limits import ConnectionLimits

QUICK = ConnectionLimits(request_s=0.5, answer_s=0.5, linger_s=0.5)
GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
PIECE = bytes(64 << 10)


class Site:
    """A counting application: ``/stream`` sends without end, ``/wait`` answers on command,
    everything else is echoed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.may_answer = threading.Event()
        self.stream_ended = threading.Event()
        self.streamed_bytes = 0
        self.at_once = 0
        self.most_at_once = 0

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        start_response("200 OK", [("Content-Type", "text/plain")])
        if path == "/stream":
            return [] if environ["REQUEST_METHOD"] == "HEAD" else self._stream()
        if path.startswith("/wait"):
            with self.lock:
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
            self.may_answer.wait(PATIENCE_S)
            with self.lock:
                self.at_once -= 1
        return [f"{environ['HTTP_HOST']} {path}".encode()]

    def _stream(self) -> Iterator[bytes]:
        try:
            while True:
                self.streamed_bytes += len(PIECE)
                yield PIECE
        finally:
            self.stream_ended.set()


def until(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def error_code(body: bytes) -> str:
    code: str = json.loads(body)["error"]["code"]
    return code


@pytest.mark.parametrize("message", [b"", b"GET / HT", b"\r\n\r\n"])
def test_an_idle_client_is_dropped(message: bytes) -> None:
    with serving(Site(), QUICK) as port, connected(port, message) as client:
        assert all_bytes(client) == b""


@pytest.mark.parametrize("drop", [b"x", b"\r\n"])
def test_a_client_that_sends_slowly_is_dropped(drop: bytes) -> None:
    with serving(Site(), QUICK) as port, connected(port, b"GET / HTTP/1.1\r\nX-Long: ") as client:
        client.settimeout(0.02)
        begun_s = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begun_s < PATIENCE_S:
                client.sendall(drop if drop == b"x" else b"\r\nX-More: 1")
                with contextlib.suppress(TimeoutError):
                    if client.recv(1) == b"":
                        break
        assert time.monotonic() - begun_s < PATIENCE_S


def test_an_active_connection_outlives_the_idle_limit() -> None:
    with serving(Site(), QUICK) as port, connected(port) as client:
        begun_s = time.monotonic()
        while time.monotonic() - begun_s < 2 * QUICK.request_s:
            client.sendall(GET % b"again")
            assert answered(client) == (200, b"localhost /again")
            time.sleep(0.02)


def test_a_client_that_does_not_read_is_dropped_and_takes_little_memory() -> None:
    site = Site()
    with serving(site, QUICK) as port, connected(port, GET % b"stream"):
        assert site.stream_ended.wait(PATIENCE_S)
        # What the systems of both ends take (a few MiB), and what waits in the server.
        assert site.streamed_bytes < 32 << 20


def test_a_client_that_reads_too_slowly_is_dropped() -> None:
    site = Site()
    limits = ConnectionLimits(answer_s=0.5, answer_bytes=1 << 30)
    with serving(site, limits) as port, connected(port, GET % b"stream") as client:
        with contextlib.suppress(ConnectionError):
            while not site.stream_ended.is_set():
                client.recv(1 << 12)
                time.sleep(0.01)
        assert site.stream_ended.is_set()


def test_a_slow_client_above_the_limit_is_served() -> None:
    site = Site()
    limits = ConnectionLimits(answer_s=0.3, answer_bytes=1)
    with serving(site, limits) as port, connected(port, GET % b"stream") as client:
        begun_s = time.monotonic()
        read_bytes = 0
        while time.monotonic() - begun_s < 4 * limits.answer_s or read_bytes < 8 << 20:
            read_bytes += len(client.recv(1 << 20))
            time.sleep(0.01)
        assert not site.stream_ended.is_set()
    assert site.stream_ended.wait(PATIENCE_S)


def test_200_clients_are_answered_despite_100_slow_ones() -> None:
    with serving(Site()) as port, contextlib.ExitStack() as stack:
        message = (b"", b"GET / HTTP/1.1\r\nHo")
        for number in range(100):
            stack.enter_context(connected(port, message[number % 2]))
        barrier = threading.Barrier(200)

        def ask(number: int) -> bool:
            with connected(port) as client:
                barrier.wait(PATIENCE_S)
                client.sendall(GET % b"%d" % number)
                return answered(client) == (200, b"localhost /%d" % number)

        with ThreadPoolExecutor(200) as pool:
            assert all(pool.map(ask, range(200)))


def test_the_longest_idle_connection_is_closed() -> None:
    site = Site()
    with serving(site, ConnectionLimits(connections=5)) as port, contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(connected(port, GET % b"wait")) for _ in range(2)]
        until(lambda: site.at_once == 2)
        silent = [stack.enter_context(connected(port)) for _ in range(3)]
        newest = stack.enter_context(connected(port, GET % b"new"))
        assert answered(newest) == (200, b"localhost /new")
        assert silent[0].recv(1) == b""
        site.may_answer.set()
        for client in (*waiting, *silent[1:]):
            client.sendall(GET % b"old" if client in silent else b"")
            assert answered(client)[0] == 200


def test_new_connections_wait_at_the_limit() -> None:
    site = Site()
    with serving(site, ConnectionLimits(connections=2)) as port, contextlib.ExitStack() as stack:
        old = [stack.enter_context(connected(port, GET % b"wait")) for _ in range(2)]
        until(lambda: site.at_once == 2)
        new = stack.enter_context(connected(port, GET % b"new"))
        site.may_answer.set()
        assert answered(new) == (200, b"localhost /new")
        assert answered(old[1])[0] == 200


def test_the_number_of_threads_is_limited() -> None:
    site = Site()
    with serving(site, ConnectionLimits(threads=3)) as port, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(port, GET % b"wait%d" % i)) for i in range(12)]
        until(lambda: site.at_once == 3)
        site.may_answer.set()
        for number, client in enumerate(clients):
            assert answered(client) == (200, b"localhost /wait%d" % number)
        assert site.most_at_once == 3


def test_a_half_closed_connection_gets_its_answer() -> None:
    with serving(Site()) as port, connected(port, GET % b"half") as client:
        client.shutdown(socket.SHUT_WR)
        assert answered(client) == (200, b"localhost /half")
        assert client.recv(1) == b""


def test_a_disconnected_client_ends_its_stream() -> None:
    site = Site()
    with serving(site) as port:
        with connected(port, GET % b"stream") as client:
            client.recv(1)
        assert site.stream_ended.wait(PATIENCE_S)


def test_pipelined_requests_are_answered_in_order() -> None:
    message = b"".join(GET % b"%d" % number for number in range(20))
    last = b"GET /20 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with serving(Site()) as port, connected(port, message + last) as client:
        paths = re.findall(rb"localhost /(\d+)", all_bytes(client))
        assert [int(path) for path in paths] == list(range(21))


def test_expect_continue_is_answered() -> None:
    message = b"GET /x HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n\r\n"
    with serving(Site()) as port, connected(port, message) as client:
        assert answered(client) == (200, b"localhost /x")


def test_head_sends_no_body() -> None:
    message = b"HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(Site()) as port, connected(port, message) as client:
        assert all_bytes(client).partition(b"\r\n\r\n")[2] == b""


def test_the_server_header_has_no_version() -> None:
    with serving(Site()) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request("GET", "/")
        with contextlib.closing(connection):
            assert connection.getresponse().headers["Server"] == "torch-tb-profiler"


def test_an_absolute_address_overrides_host() -> None:
    message = b"GET http://other.example:80/x?y HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with serving(Site()) as port, connected(port, message) as client:
        assert answered(client) == (200, b"other.example:80 /x")


HUGE_NUMBER = b"9" * 5000
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize(
    ("message", "status", "code"),
    [
        pytest.param(POST % (8 << 20) + bytes(8 << 20), 405, "method_not_allowed", id="post"),
        pytest.param(POST % (1 << 40), 405, "method_not_allowed", id="post to come"),
        pytest.param(b"CONNECT a:80 HTTP/1.1\r\n\r\n", 405, "method_not_allowed", id="connect"),
        pytest.param(b"OPTIONS * HTTP/1.1\r\n\r\n", 405, "method_not_allowed", id="options"),
        pytest.param(
            (POST % 5).replace(b"POST", b"GET") + b"hello", 413, "body_refused", id="get with body"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 999_999,
            413,
            "body_refused",
            id="chunks",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "not_supported", id="coding"
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\nX: " + b"x" * (2 << 20), 431, "headers_too_large", id="headers"
        ),
        pytest.param(b"GET /" + b"x" * (2 << 20), 431, "headers_too_large", id="address"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, "bad_request", id="tls"),
        pytest.param(bytes(range(256)) + b"\r\n\r\n", 400, "bad_request", id="bytes"),
        pytest.param(b"GET http://[::1/ HTTP/1.1\r\n\r\n", 400, "bad_request", id="bracket"),
        pytest.param(
            b"GET / HTTP/1.1\r\nContent-Length: " + HUGE_NUMBER + b"\r\n\r\n",
            400,
            "bad_request",
            id="digits",
        ),
        pytest.param(b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, "bad_request", id="no colon"),
        pytest.param(b"get / HTTP/1.1\r\n\r\n", 400, "bad_request", id="small letters"),
    ],
)
def test_unsupported_requests_are_refused_with_a_reason(
    message: bytes, status: int, code: str
) -> None:
    with serving(Site()) as port, connected(port) as client:
        sender = threading.Thread(target=_say, args=(client, message))
        sender.start()
        answer = answered(client)
        sender.join(PATIENCE_S)
        assert (answer[0], error_code(answer[1])) == (status, code)


def _say(client: socket.socket, message: bytes) -> None:
    with contextlib.suppress(OSError):  # the rest of a refused request need not be read
        client.sendall(message)


def test_a_refused_client_that_keeps_sending_is_dropped() -> None:
    with serving(Site(), QUICK) as port, connected(port, POST % (1 << 40)) as client:
        sender = threading.Thread(target=_say, args=(client, bytes(256 << 20)))
        sender.start()
        assert b"method_not_allowed" in all_bytes(client)
        sender.join(PATIENCE_S)
        assert not sender.is_alive()


def test_urgent_data_closes_the_connection() -> None:
    with serving(Site()) as port, connected(port) as client:
        client.send(b"x", socket.MSG_OOB)
        assert all_bytes(client) == b""


@contextlib.contextmanager
def python_of(text: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A Python process that runs ``text``, and the port that it prints first."""
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())


FEW_FILES = """
import resource, sys
from tests.helpers.sockets import serving
from tests.server.test_http_server import Site
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
with serving(Site()) as port:
    print(port, flush=True)
    sys.stdin.read()
"""


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="limits of files are told to Unix")
def test_without_free_descriptors_the_longest_idle_connection_is_closed() -> None:
    with python_of(FEW_FILES) as (process, port), contextlib.ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connected(port))
        with connected(port, GET % b"late") as client:
            assert answered(client) == (200, b"localhost /late")
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert errors == b""


FEW_THREADS = """
import re, resource, sys, threading
from pathlib import Path
from tests.helpers.sockets import serving
from tests.server.test_http_server import Site
site = Site()
with serving(site) as port:
    used_kb = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
    limit = used_kb * 1024 + (160 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    print(port, flush=True)
    sys.stdin.readline()
    site.may_answer.set()
    sys.stdin.read()
    print(site.most_at_once)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts the memory of Linux")
def test_existing_threads_answer_if_none_can_be_started() -> None:
    with python_of(FEW_THREADS) as (process, port), contextlib.ExitStack() as stack:
        assert process.stdin is not None
        clients = [stack.enter_context(connected(port, GET % b"wait")) for _ in range(60)]
        process.stdin.write(b"\n")
        process.stdin.flush()
        for client in clients:
            assert answered(client) == (200, b"localhost /wait")
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert 0 < int(output) < 60
    assert errors == b""
