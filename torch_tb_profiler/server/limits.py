"""How much of the server others can hold: numbers with their reasons (a table: docs/safety.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """What is made at once, whoever serves: this package's own server or TensorBoard's.

    Attributes:
        computing: Answers computed at once. More than there are cores: one that waits a moment
            for a trace to be parsed holds its place meanwhile.
        streams: Files sent at once (``/download``, ``/perfetto``). They last as long as their
            readers take, so they have places of their own.
        waiting: Requests that wait for a place, a class of students twice over.
        wait_s: How long one waits; browsers and proxies give up later.
        retry_after_s: When whoever was turned away may ask again.
        piece_s: How long a piece of a stream may take in TensorBoard, whose server has no time
            limits: else readers that stopped would keep their places for ever.
    """

    computing: int = 16
    streams: int = 8
    waiting: int = 200
    wait_s: float = 60.0
    retry_after_s: int = 3
    piece_s: float = 60.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What connections may hold of ``torch-tb-profiler serve``.

    Attributes:
        connections: Open at once. With its listener this stays below 512, the most sockets that
            ``select`` takes on Windows, and below the 1024 files a Linux process may open.
        threads: Threads that answer, started when they are needed: one for each place of
            :class:`AnswerLimits` (224), and some for what needs none, so that pages never queue.
        request_s: From the connecting, or the last byte of an answer, to the end of the next
            request, however many bytes arrive meanwhile.
        answer_s: Time in which an answer that waits for its reader must move on by
            ``answer_bytes``.
        answer_bytes: 4 KiB/s over a minute: the slowest link somebody waits for.
        linger_s: How long what a refused client still sends is thrown away, so that it reads
            the refusal before its connection ends.
        header_bytes: Request line and headers. The longest are screens of the timeline with
            thousands of tracks (64 Ki characters, some written as three).
    """

    connections: int = 500
    threads: int = 240
    request_s: float = 60.0
    answer_s: float = 60.0
    answer_bytes: int = 256 << 10
    linger_s: float = 2.0
    header_bytes: int = 128 << 10
