"""A server on a free port of this machine, and clients that speak to it byte by byte."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch_tb_profiler.server.app import WsgiApp
from torch_tb_profiler.server.http_server import HttpServer
from torch_tb_profiler.server.limits import ConnectionLimits

PATIENCE_S = 20.0
"""How long a test waits for what must happen soon."""


@contextmanager
def running(server: HttpServer) -> Iterator[int]:
    """Its port, while ``server`` serves on a thread."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        server.close()


@contextmanager
def serving(app: WsgiApp, limits: ConnectionLimits | None = None) -> Iterator[int]:
    """The port on which ``app`` is served."""
    bound = socket.create_server(("127.0.0.1", 0))
    with running(HttpServer(app, bound, limits or ConnectionLimits())) as port:
        yield port


def connected(port: int, said: bytes = b"") -> socket.socket:
    """A connection that has said so much."""
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    client.sendall(said)
    return client


def answered(client: socket.socket, method: str = "GET") -> tuple[int, bytes]:
    """Status and body of the next answer."""
    response = http.client.HTTPResponse(client, method=method)
    response.begin()
    return response.status, response.read()


def all_bytes(client: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    pieces = []
    try:
        while piece := client.recv(1 << 16):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)
