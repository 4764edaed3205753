"""How long a store may take to answer one question.

A store that accepts connections and says nothing, or a byte a second, would else hold whoever asks
for as long as its client's own tries last, which is many minutes. Whoever asks waits here and not
in the client: when the time is up the question is cancelled, and what cannot be cancelled is left
to a daemon thread.
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
"""People wait this long for an answer; a store that is merely slow begins one within seconds."""

CONNECT_SHARE = 0.25
"""Part of the limit for a connection: a host that drops packets is given up in time for another
try."""

READ_SHARE = 0.5
"""Part of the limit in which an answer may stand still: a dead connection is then replaced once
before the time is up."""

LISTING_LIMITS = 30.0
"""A listing may take so many times the limit while page after page comes: ten minutes are a million
objects and more."""

SLOWEST_BYTES_PER_S = 64 << 10
"""A connection slower than this counts as dead: one of eight of a line of half a megabyte/s."""

MOST_UNANSWERED = 4
"""Threads that one store may hold that does not answer; further questions fail at once."""

T = TypeVar("T")


class NoAnswerError(TimeoutError):
    """A store did not answer in time."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"no answer within {limit_s:.3g} s")
        self.limit_s = limit_s


class Question:
    """The time that is left for one question to a store.

    Attributes:
        limit_s: The longest time without any progress.
        total_s: The longest time altogether.
        is_over: Nobody waits for the answer any more.
    """

    def __init__(self, limit_s: float, total_s: float) -> None:
        self.limit_s = limit_s
        self.total_s = total_s
        self.is_over = False
        self._started_s = self._progress_s = time.monotonic()

    def progressed(self) -> None:
        """An answer to a part of it came."""
        self._progress_s = time.monotonic()

    @property
    def has_progress(self) -> bool:
        """Whether any part of it was answered."""
        return self._progress_s > self._started_s

    @property
    def left_s(self) -> float:
        """Seconds until it is given up."""
        ends_s = min(self._progress_s + self.limit_s, self._started_s + self.total_s)
        return ends_s - time.monotonic()


_question: ContextVar[Question | None] = ContextVar("question", default=None)
_unanswered: defaultdict[str, list[threading.Thread]] = defaultdict(list)
_lock = threading.Lock()


def remote_timeout_s() -> float:
    """The limit of one question, seconds: ``$TORCH_TB_PROFILER_REMOTE_TIMEOUT_S``, else 20."""
    return positive_number(TIMEOUT_VARIABLE, TIMEOUT_S)


def bytes_timeout_s(size_bytes: int) -> float:
    """The limit for so many bytes over one connection, seconds."""
    return remote_timeout_s() + size_bytes / SLOWEST_BYTES_PER_S


def begin(question: Question) -> None:
    """From here on, in this task or thread, requests that are answered count for ``question``."""
    _question.set(question)


def progressed() -> None:
    """Called by the clients when one of the requests of a question was answered."""
    question = _question.get()
    if question is not None:
        question.progressed()


def ask(
    filesystem: Any, method: str, *arguments: Any, total_s: float | None = None, **options: Any
) -> Any:
    """What ``filesystem.method(*arguments, **options)`` returns, if it does in time.

    Args:
        filesystem: An fsspec filesystem.
        method: Name of one of its blocking methods.
        arguments: Its arguments.
        total_s: Longest time while there is progress; None: no longer than without.
        options: Its named arguments.

    Raises:
        NoAnswerError: the time is up.
        Exception: whatever the client raises.
    """
    limit_s = remote_timeout_s()
    question = Question(limit_s, max(limit_s, total_s or 0.0))
    refresh_credentials(filesystem)
    asynchronous = getattr(filesystem, f"_{method}", None)
    if not getattr(filesystem, "async_impl", False) or asynchronous is None:
        blocking = getattr(filesystem, method)
        return _in_thread(key_of(filesystem), lambda: blocking(*arguments, **options), question)
    asyncio = importlib.import_module("asyncio")  # local files need not wait for it to load
    token = _question.set(question)
    try:
        answering = _quiet(asynchronous(*arguments, **options), question)
        future: Future[Any] = asyncio.run_coroutine_threadsafe(answering, filesystem.loop)
    finally:
        _question.reset(token)
    return _awaited(future, question)


def call(
    key: str,
    blocking: Callable[[], T],
    limit_s: float | None = None,
    total_s: float | None = None,
) -> T:
    """What ``blocking`` returns, called in a daemon thread, if it does in time.

    Args:
        key: Names the store: one that holds several threads already is not asked at all.
        blocking: The call.
        limit_s: Longest time without progress, seconds; None for the limit of one question.
        total_s: Longest time while there is progress; None: no longer than without.

    Raises:
        NoAnswerError: the time is up.
        Exception: whatever the call raises.
    """
    chosen_s = remote_timeout_s() if limit_s is None else limit_s
    return _in_thread(key, blocking, Question(chosen_s, max(chosen_s, total_s or 0.0)))


def awaited(future: Future[T], limit_s: float) -> T:
    """The result of a coroutine that runs on a client's loop, if it comes within ``limit_s``.

    Raises:
        NoAnswerError: the time is up; the coroutine is cancelled.
        Exception: whatever the coroutine raises.
    """
    return _awaited(future, Question(limit_s, limit_s))


def key_of(filesystem: Any) -> str:
    """Names a filesystem for :func:`call`."""
    return f"{filesystem.protocol} {id(filesystem)}"


def refresh_credentials(filesystem: Any) -> None:
    """Renew a token that has run out before the client does it on its loop.

    gcsfs asks for a new one with a blocking request there, and all stores share that loop.

    Raises:
        NoAnswerError: the time is up.
        Exception: whatever the client raises.
    """
    credentials = getattr(filesystem, "credentials", None)
    if credentials is not None and getattr(credentials, "credentials", None) is not None:
        call(f"credentials {id(filesystem)}", credentials.maybe_refresh)


async def _quiet(answering: Awaitable[Any], question: Question) -> Any:
    """The answer; what a client says of being cancelled concerns nobody."""
    try:
        return await answering
    except Exception:
        if question.is_over:
            return None
        raise


def _in_thread(key: str, blocking: Callable[[], T], question: Question) -> T:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    context = copy_context()
    context.run(_question.set, question)

    def work() -> None:
        try:
            future.set_result(context.run(blocking))
        except BaseException as error:  # it belongs to whoever asked
            future.set_exception(error)

    thread = threading.Thread(target=work, name="remote-call", daemon=True)
    with _lock:
        stuck = [other for other in _unanswered.pop(key, ()) if other.is_alive()]
        if stuck:
            _unanswered[key] = stuck
    if len(stuck) >= MOST_UNANSWERED:
        raise NoAnswerError(question.limit_s)
    thread.start()
    try:
        return _awaited(future, question)
    except NoAnswerError:
        with _lock:
            _unanswered[key].append(thread)
        raise


def _awaited(future: Future[T], question: Question) -> T:
    try:
        while not future.done():
            left_s = question.left_s
            if left_s <= 0:
                raise NoAnswerError(question.limit_s)
            wait([future], left_s)
        return future.result()
    finally:
        question.is_over = True
        future.cancel()
