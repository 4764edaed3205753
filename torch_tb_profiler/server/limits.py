"""Limits for what clients can occupy, with reasons (as a table: docs/safety.md)."""

from __future__ import annotations

from msgspec import Struct


class AnswerLimits(Struct, frozen=True):
    """Concurrent answers, with this package's own server or TensorBoard's.

    Attributes:
        computing: Answers computed at once. More than there are cores, because an answer that waits
            briefly for a trace to be parsed occupies its slot meanwhile.
        streams: Files sent at once (``/download``, ``/perfetto``). They last as long as the clients
            take to read them, so they have separate slots.
        waiting: Requests that wait for a slot: twice a class of 100 students.
        wait_s: Maximum waiting time; browsers and proxies give up later.
        retry_after_s: Delay after which a rejected client may retry.
        piece_s: Time limit for a piece of a stream in TensorBoard, whose server has none: otherwise
            stalled clients would keep their slots for ever.
    """

    computing: int = 16
    streams: int = 8
    waiting: int = 200
    wait_s: float = 60.0
    retry_after_s: int = 3
    piece_s: float = 60.0


class ConnectionLimits(Struct, frozen=True):
    """Limits for connections of ``torch-tb-profiler serve``.

    Attributes:
        connections: Open connections. With the listener this is below 512, the maximum number of
            sockets for ``select`` on Windows, and below 1024 open files of a Linux process.
        threads: Answering threads, started on demand: one per slot and seat of
            :class:`AnswerLimits` (224), and some for requests that need none, so that pages are
            never queued.
        request_s: From the connection, or the last byte of an answer, to the end of the next
            request, regardless of how many bytes arrive meanwhile.
        answer_s: Time in which the client must read ``answer_bytes`` of a pending answer.
        answer_bytes: 4 KiB/s over a minute, the slowest usable link.
        linger_s: How long further data of a refused client is discarded, so that it can read the
            refusal before its connection ends.
        header_bytes: Request line and headers. The longest are timeline screens with thousands of
            tracks (64 Ki characters, some percent-encoded).
    """

    connections: int = 500
    threads: int = 240
    request_s: float = 60.0
    answer_s: float = 60.0
    answer_bytes: int = 256 << 10
    linger_s: float = 2.0
    header_bytes: int = 128 << 10
