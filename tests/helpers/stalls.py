"""An endpoint that fails as real ones do: it says nothing, stops in the middle, drops, trickles.

It listens on loopback, passes requests on to another server there, or answers by itself, and does
to each request what :attr:`FaultyEndpoint.plan` says.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Literal

Fault = Literal[
    "silent",  # the request is taken, nothing comes back
    "stalls after headers",
    "stalls in body",
    "drops",  # the connection is closed without an answer
    "drops in body",
    "trickles",  # a byte a second, from the first of the headers
    "trickles body",
]
FAULTS: tuple[Fault, ...] = Fault.__args__  # type: ignore[attr-defined]  # a Literal has them

TRICKLE_S = 1.0
HOLD_S = 120.0
"""A connection is held so long at most, should the test forget it."""

_OWN_ANSWER = b'HTTP/1.1 200 OK\r\nContent-Length: 4000\r\nETag: "1"\r\n\r\n' + b"x" * 4000


class FaultyEndpoint:
    """One HTTP endpoint; a connection takes one request.

    Attributes:
        port: Where it listens.
        requests: First line of every request so far.
        plan: What to do to a request, by its number from zero; None passes it on.
        delay_s: How long every answer takes.
    """

    def __init__(self, upstream_port: int | None = None) -> None:
        self.requests: list[str] = []
        self.plan: Callable[[int], Fault | None] = lambda _: None
        self.delay_s = 0.0
        self._upstream_port = upstream_port
        self._released = threading.Event()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def always(self, fault: Fault | None) -> None:
        """Do the same to every request from now on."""
        self.plan = lambda _: fault

    def forget(self) -> None:
        """Count requests from zero again."""
        with self._lock:
            self.requests.clear()

    def close(self) -> None:
        """End, with all connections."""
        self._released.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # else the waiting thread takes one more
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), connection:
            connection.settimeout(HOLD_S)
            request = _read_request(connection)
            if not request:
                return
            with self._lock:
                number = len(self.requests)
                self.requests.append(request.partition(b"\r\n")[0].decode("latin-1"))
            fault = self.plan(number)
            self._released.wait(self.delay_s)
            if fault == "silent":
                self._released.wait(HOLD_S)
            elif fault != "drops":
                self._answer(connection, self._response(request), fault)

    def _answer(self, connection: socket.socket, response: bytes, fault: Fault | None) -> None:
        head_bytes = response.index(b"\r\n\r\n") + 4
        middle = head_bytes + (len(response) - head_bytes) // 2
        whole = {"stalls after headers": head_bytes, "trickles body": head_bytes, "trickles": 0}
        sent = whole.get(fault or "", middle if fault else len(response))
        connection.sendall(response[:sent])
        if fault and fault.startswith("stalls"):
            self._released.wait(HOLD_S)
        elif fault and fault.startswith("trickles"):
            for place in range(sent, len(response)):
                if self._released.wait(TRICKLE_S):
                    return
                connection.sendall(response[place : place + 1])

    def _response(self, request: bytes) -> bytes:
        if self._upstream_port is None:
            return _OWN_ANSWER
        with socket.create_connection(("127.0.0.1", self._upstream_port), HOLD_S) as upstream:
            upstream.sendall(request)
            parts = []
            while part := upstream.recv(1 << 20):
                parts.append(part)
        return b"".join(parts)


def _read_request(connection: socket.socket) -> bytes:
    """One request whole, told to its server as the last of its connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 16)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(b":") for line in lines[1:])
    }
    if fields.get(b"expect", b"").lower() == b"100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    while len(body) < int(fields.get(b"content-length", b"0")):
        body += connection.recv(1 << 16)
    dropped = (b"connection:", b"expect:")
    kept = [line for line in lines if not line.lower().startswith(dropped)]
    return b"\r\n".join([*kept, b"Connection: close", b"", b""]) + body


@contextlib.contextmanager
def faulty_endpoint(upstream_port: int | None = None) -> Iterator[FaultyEndpoint]:
    """An endpoint, in front of another one if its port is given; closed afterwards."""
    endpoint = FaultyEndpoint(upstream_port)
    try:
        yield endpoint
    finally:
        endpoint.close()
