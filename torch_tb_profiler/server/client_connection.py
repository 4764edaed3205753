"""Whether the client of a request still waits for its answer."""

from __future__ import annotations

import select
import socket

from werkzeug.wrappers import Request

CLIENT_SOCKET = "torch_tb_profiler.socket"
"""Key of the WSGI environment under which this package's server has the connection."""

TENSORBOARD_SOCKET = "werkzeug.socket"
"""The same of TensorBoard's server."""


def is_client_gone(request: Request) -> bool:
    """Whether the connection of the client is closed; False where the server does not say."""
    connection = request.environ.get(CLIENT_SOCKET) or request.environ.get(TENSORBOARD_SOCKET)
    if not isinstance(connection, socket.socket):
        return False
    try:
        if not _is_readable(connection):
            return False
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):  # closed on this side too
        return True


def _is_readable(connection: socket.socket) -> bool:
    if hasattr(select, "poll"):  # without a limit of the numbers of files
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([connection], [], [], 0)[0])
