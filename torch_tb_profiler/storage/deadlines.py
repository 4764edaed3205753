"""Deadlines of requests to remote stores.

A store that accepts connections and then sends nothing, or a byte a second, would block the caller
until its client gives up, which takes many minutes. So callers wait here and not in the client:
after the deadline the request is cancelled, and one that cannot be cancelled is left to a daemon
thread.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from torch_tb_profiler.storage.environment import positive_number

TIMEOUT_VARIABLE = "TORCH_TB_PROFILER_REMOTE_TIMEOUT_S"
TIMEOUT_S = 20.0
"""How long people wait for an answer; a store that is merely slow starts to answer within
seconds."""

CONNECT_SHARE = 0.25
"""Part of the timeout allowed for connecting: a host that drops packets is given up in time for
another attempt."""

READ_SHARE = 0.5
"""Part of the timeout in which an answer may stall: a dead connection is replaced once before the
deadline."""

LISTING_LIMITS = 30.0
"""A listing may take this many timeouts while pages keep arriving: ten minutes are a million
objects and more."""

MIN_BYTES_PER_S = 64 << 10
"""A slower connection counts as dead: one of eight on a line of half a megabyte per second."""

MAX_STUCK_THREADS = 4
"""Threads that one unresponsive store may hold; further requests fail at once."""

T = TypeVar("T")


class NoAnswerError(TimeoutError):
    """A store did not answer in time."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"no answer within {limit_s:.3g} s")
        self.limit_s = limit_s


class RequestDeadline:
    """The time left for one request to a store.

    Attributes:
        limit_s: Longest time without progress.
        total_s: Longest time altogether.
        is_over: Nobody waits for the answer any more.
    """

    def __init__(self, limit_s: float, total_s: float) -> None:
        self.limit_s = limit_s
        self.total_s = total_s
        self.is_over = False
        self._started_s = self._progress_s = time.monotonic()

    def report_progress(self) -> None:
        """A part of the request was answered."""
        self._progress_s = time.monotonic()

    @property
    def has_progress(self) -> bool:
        """Whether any part of it was answered."""
        return self._progress_s > self._started_s

    @property
    def remaining_s(self) -> float:
        """Seconds until it is given up."""
        ends_s = min(self._progress_s + self.limit_s, self._started_s + self.total_s)
        return ends_s - time.monotonic()


_deadline: ContextVar[RequestDeadline | None] = ContextVar("question", default=None)
_unanswered: defaultdict[str, list[threading.Thread]] = defaultdict(list)
_lock = threading.Lock()


def remote_timeout_s() -> float:
    """The timeout of one request in seconds: ``$TORCH_TB_PROFILER_REMOTE_TIMEOUT_S``, else 20."""
    return positive_number(TIMEOUT_VARIABLE, TIMEOUT_S)


def bytes_timeout_s(size_bytes: int) -> float:
    """The timeout for ``size_bytes`` over one connection, in seconds."""
    return remote_timeout_s() + size_bytes / MIN_BYTES_PER_S


def set_deadline(deadline: RequestDeadline) -> None:
    """Make ``deadline`` the one that answered requests of this task or thread extend."""
    _deadline.set(deadline)


def report_progress() -> None:
    """Called by the clients when a part of the current request was answered."""
    deadline = _deadline.get()
    if deadline is not None:
        deadline.report_progress()


def request(
    filesystem: Any, method: str, *arguments: Any, total_s: float | None = None, **options: Any
) -> Any:
    """The result of ``filesystem.method(*arguments, **options)``, within a deadline.

    Args:
        filesystem: An fsspec filesystem.
        method: Name of one of its blocking methods.
        arguments: Its arguments.
        total_s: Longest time while there is progress; None for the timeout of one request.
        options: Its named arguments.

    Raises:
        NoAnswerError: the deadline has passed.
        Exception: whatever the client raises.
    """
    limit_s = remote_timeout_s()
    deadline = RequestDeadline(limit_s, max(limit_s, total_s or 0.0))
    refresh_credentials(filesystem)
    asynchronous = getattr(filesystem, f"_{method}", None)
    if not getattr(filesystem, "async_impl", False) or asynchronous is None:
        blocking = getattr(filesystem, method)
        return _in_thread(store_key(filesystem), lambda: blocking(*arguments, **options), deadline)
    asyncio = importlib.import_module("asyncio")  # loaded late: local files do not need it
    token = _deadline.set(deadline)
    try:
        pending = _ignore_cancelled(asynchronous(*arguments, **options), deadline)
        future: Future[Any] = asyncio.run_coroutine_threadsafe(pending, filesystem.loop)
    finally:
        _deadline.reset(token)
    return _await_result(future, deadline)


def call(
    key: str,
    blocking: Callable[[], T],
    limit_s: float | None = None,
    total_s: float | None = None,
) -> T:
    """The result of ``blocking``, called in a daemon thread within a deadline.

    Args:
        key: Identifies the store: one that already holds several stuck threads is not called.
        blocking: The call.
        limit_s: Longest time without progress, in seconds; None for the timeout of one request.
        total_s: Longest time while there is progress; None for ``limit_s``.

    Raises:
        NoAnswerError: the deadline has passed.
        Exception: whatever the call raises.
    """
    chosen_s = remote_timeout_s() if limit_s is None else limit_s
    return _in_thread(key, blocking, RequestDeadline(chosen_s, max(chosen_s, total_s or 0.0)))


def await_result(future: Future[T], limit_s: float) -> T:
    """The result of a coroutine that runs on a client's event loop, within ``limit_s``.

    Raises:
        NoAnswerError: the deadline has passed; the coroutine is cancelled.
        Exception: whatever the coroutine raises.
    """
    return _await_result(future, RequestDeadline(limit_s, limit_s))


def store_key(filesystem: Any) -> str:
    """Identifies a filesystem for :func:`call`."""
    return f"{filesystem.protocol} {id(filesystem)}"


def refresh_credentials(filesystem: Any) -> None:
    """Renew an expired token before the client does so on its event loop.

    gcsfs requests a new one with a blocking call there, and all stores share that loop.

    Raises:
        NoAnswerError: the deadline has passed.
        Exception: whatever the client raises.
    """
    credentials = getattr(filesystem, "credentials", None)
    if credentials is not None and getattr(credentials, "credentials", None) is not None:
        call(f"credentials {id(filesystem)}", credentials.maybe_refresh)


async def _ignore_cancelled(pending: Awaitable[Any], deadline: RequestDeadline) -> Any:
    """The answer; errors that a client raises after the deadline are dropped."""
    try:
        return await pending
    except Exception:
        if deadline.is_over:
            return None
        raise


def _in_thread(key: str, blocking: Callable[[], T], deadline: RequestDeadline) -> T:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    context = copy_context()
    context.run(_deadline.set, deadline)

    def work() -> None:
        try:
            future.set_result(context.run(blocking))
        except BaseException as error:  # raised again in the caller's thread
            future.set_exception(error)

    thread = threading.Thread(target=work, name="remote-call", daemon=True)
    with _lock:
        stuck = [other for other in _unanswered.pop(key, ()) if other.is_alive()]
        if stuck:
            _unanswered[key] = stuck
    if len(stuck) >= MAX_STUCK_THREADS:
        raise NoAnswerError(deadline.limit_s)
    thread.start()
    try:
        return _await_result(future, deadline)
    except NoAnswerError:
        with _lock:
            _unanswered[key].append(thread)
        raise


def _await_result(future: Future[T], deadline: RequestDeadline) -> T:
    try:
        while not future.done():
            remaining_s = deadline.remaining_s
            if remaining_s <= 0:
                raise NoAnswerError(deadline.limit_s)
            wait([future], remaining_s)
        return future.result()
    finally:
        deadline.is_over = True
        future.cancel()
