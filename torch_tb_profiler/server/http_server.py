"""The server of ``torch-tb-profiler serve``: waitress with deadlines for slow clients.

One thread reads requests and sends answers, others compute them. waitress limits the threads; this
limits how long a connection may hold resources: it must send its next request and read its answer
in time. At the maximum number of connections, the one that has been idle longest is closed.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
import time
from typing import Any

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from torch_tb_profiler.server.app import WsgiApp
from torch_tb_profiler.server.http_requests import AnswerTask, RefusalTask, RequestParser
from torch_tb_profiler.server.limits import ConnectionLimits

_LOGGER = logging.getLogger(__name__)

SERVER_NAME = "torch-tb-profiler"
"""Without a version, so that outdated servers cannot be identified."""

MOST_PENDING_BYTES = 512 << 10
"""A streamed answer continues when fewer bytes than this are waiting to be sent."""

MOST_MEMORY_BYTES = 1 << 20
"""Longer answers are buffered in a temporary file, so that no thread waits for a client. Streams
never reach this: they pause at :data:`MOST_PENDING_BYTES` plus a piece."""

CHECKS_PER_LIMIT = 10
"""How often connections are checked within the shortest time limit."""

MOST_TICK_S = 1.0
ACCEPT_PAUSE_S = 1.0
"""If no connection can be closed, new ones wait this long in the system's queue."""

_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class ThreadPool(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress has no types; so below
    """Starts a thread when a request arrives and none is free, up to a maximum.

    Args:
        most: Maximum number of threads.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add_task(self, task: Any) -> None:
        """Queue the next request of a connection for a thread."""
        with self.lock:
            self.queue.append(task)
            self.queue_cv.notify()
            count = len(self.threads)
            is_short = len(self.queue) > count - self.active_count
        if is_short and count < self._most and self.stop_count == 0:
            try:
                self.set_thread_count(count + 1)
            except RuntimeError:  # no more threads available: the existing ones continue
                if count == 0:
                    raise

    def start_new_thread(self, target: Any, thread_no: int) -> None:
        """Start a thread; one that fails to start is not counted.

        Raises:
            RuntimeError: the system cannot start another thread.
        """
        try:
            super().start_new_thread(target, thread_no)
        except RuntimeError:
            self.threads.discard(thread_no)
            raise


class Connection(HTTPChannel):  # type: ignore[misc]
    """One connection with its deadlines."""

    parser_class = RequestParser
    task_class = AnswerTask
    error_task_class = RefusalTask

    is_refused = False
    """Whether its last request was refused."""

    def __init__(self, server: HttpServer, *arguments: Any, **options: Any) -> None:
        self._limits = server.limits
        self.silent_since_s = time.monotonic()
        self._sent_bytes = 0
        # When the answer last made sufficient progress, and the bytes sent at that time.
        self._moved: tuple[float, int] | None = None
        self._lingers_until_s: float | None = None
        super().__init__(server, *arguments, **options)

    @property
    def is_silent(self) -> bool:
        """Whether the server is waiting for a request: none is being answered."""
        return not self.requests and not self.total_outbufs_len

    def is_late(self, now_s: float) -> bool:
        """Whether the client has exceeded a time limit; to be checked periodically.

        Args:
            now_s: Time of the monotonic clock.
        """
        if self._lingers_until_s is not None:
            return now_s >= self._lingers_until_s
        if self.is_silent:
            self._moved = None
            return now_s - self.silent_since_s >= self._limits.request_s
        if not self.total_outbufs_len:  # the answer is being computed
            self._moved = None
        elif self._moved is None or self._sent_bytes - self._moved[1] >= self._limits.answer_bytes:
            self._moved = (now_s, self._sent_bytes)
        return self._moved is not None and now_s - self._moved[0] >= self._limits.answer_s

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send a part of ``data`` and return the number of bytes."""
        count: int = super().send(data, do_close)
        if count:
            self._sent_bytes += count
            self.silent_since_s = time.monotonic()
        return count

    def readable(self) -> bool:
        """Whether data from the client is read now."""
        return self._lingers_until_s is not None or bool(super().readable())

    def handle_read(self) -> None:
        """Read what arrived: a request, or data to discard after a refusal."""
        if self._lingers_until_s is None:
            super().handle_read()
            return
        try:
            self.recv(self.adj.recv_bytes)  # closes at the end
        except OSError:
            self.handle_close()

    def handle_write(self) -> None:
        """Send pending data; a refused client gets time to read the refusal.

        Closing while unread data arrives would discard the answer at the client.
        """
        if self.is_refused and self.close_when_flushed and not self.will_close:
            self._flush_exception(self._flush_some)
            if not self.total_outbufs_len and self.connected:
                self._linger()
        else:
            super().handle_write()

    def handle_expt(self) -> None:
        """Urgent data: no legitimate client sends any."""
        self.handle_close()

    def _linger(self) -> None:
        self.close_when_flushed = False
        self._lingers_until_s = time.monotonic() + self._limits.linger_s
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()


class HttpServer(TcpWSGIServer):  # type: ignore[misc]
    """Serves an application on a socket.

    Args:
        application: The WSGI application.
        bound: A bound TCP socket, which the server takes over.
        limits: Limits for connections.
    """

    channel_class = Connection

    def __init__(
        self, application: WsgiApp, bound: socket.socket, limits: ConnectionLimits
    ) -> None:
        self.limits = limits
        settings = Adjustments(
            ident=SERVER_NAME,
            server_name="localhost",
            outbuf_high_watermark=MOST_PENDING_BYTES,
            outbuf_overflow=MOST_MEMORY_BYTES,
            max_request_header_size=limits.header_bytes,
            log_socket_errors=False,
        )
        self._tick_s = min(MOST_TICK_S, self._shortest_s / CHECKS_PER_LIMIT)
        self._is_stopping = threading.Event()
        self._is_closed = False
        self._accepts_from_s = 0.0
        super().__init__(
            application,
            _sock=bound,
            dispatcher=ThreadPool(limits.threads),
            adj=settings,
            bind_socket=False,
            sockinfo=(bound.family, bound.type, bound.proto, bound.getsockname()),
        )

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self.effective_port)

    @property
    def _shortest_s(self) -> float:
        return min(self.limits.request_s, self.limits.answer_s, self.limits.linger_s)

    def serve_forever(self) -> None:
        """Serve until :meth:`stop` is called, or an exception such as Ctrl-C ends the loop."""
        next_check_s = 0.0
        while not self._is_stopping.is_set():
            wasyncore.loop(timeout=self._tick_s, use_poll=True, map=self._map, count=1)
            now_s = time.monotonic()
            if now_s >= next_check_s:
                next_check_s = now_s + self._tick_s
                for connection in self._connections():
                    if connection.is_late(now_s):
                        connection.handle_close()

    def stop(self) -> None:
        """End :meth:`serve_forever`, from another thread."""
        self._is_stopping.set()
        self.pull_trigger()

    def pull_trigger(self) -> None:
        """Wake the loop; no effect in a thread that finishes after the server was closed."""
        try:
            super().pull_trigger()
        except OSError:
            if not self._is_closed:
                raise

    def close(self) -> None:
        """Close all connections and the socket, without waiting for running answers."""
        self._is_closed = True
        for connection in self._connections():
            connection.handle_close()
        self.task_dispatcher.set_thread_count(0)
        super().close()

    def readable(self) -> bool:
        """Whether another connection is accepted."""
        if time.monotonic() < self._accepts_from_s:
            return False
        if len(self.active_channels) < self.limits.connections:
            return bool(self.accepting)
        return any(connection.is_silent for connection in self._connections())

    def handle_accept(self) -> None:
        """Accept a connection, and close another one if there are too many."""
        super().handle_accept()
        if len(self.active_channels) > self.limits.connections:
            self._make_room()

    def accept(self) -> tuple[socket.socket, Any] | None:
        """The next connection; None if it has been closed or cannot be opened."""
        try:
            accepted: tuple[socket.socket, Any] | None = super().accept()
        except OSError as error:
            if error.errno in _NO_FILES and not self._make_room():
                _LOGGER.warning("no further connection can be opened: %s", error.strerror)
                self._accepts_from_s = time.monotonic() + ACCEPT_PAUSE_S
            return None
        return accepted

    def _make_room(self) -> bool:
        """Close the connection that has been idle longest; False if there is none."""
        silent = [connection for connection in self._connections() if connection.is_silent]
        if silent:
            min(silent, key=lambda connection: connection.silent_since_s).handle_close()
        return bool(silent)

    def _connections(self) -> list[Connection]:
        return list(self.active_channels.values())
