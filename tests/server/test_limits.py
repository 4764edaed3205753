"""The numbers in docs/safety.md match the code, and the limits fit together."""

from __future__ import annotations

from pathlib import Path

from torch_tb_profiler.server.app import STREAM_PIECE_BYTES
from torch_tb_profiler.server.limits import AnswerLimits, ConnectionLimits


def test_limits_match_the_documentation() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "safety.md"
    text = page.read_text(encoding="utf-8").partition("## A server for others")[2]
    answers, connections = AnswerLimits(), ConnectionLimits()
    for row in (
        f"| connections | {connections.connections} |",
        f"| {connections.request_s:g} s from the connection",
        f"| {connections.answer_bytes >> 10} KiB in {connections.answer_s:g} s |",
        f"| request line and headers | {connections.header_bytes >> 10} KiB |",
        f"| threads | {connections.threads} |",
        f"| answers computed at once | {answers.computing};",
        f"(`/download`, `/perfetto`) | {answers.streams},",
        f"of it ({STREAM_PIECE_BYTES >> 10} KiB) takes {answers.piece_s:g} s;",
        f"| requests that wait | {answers.waiting}, each {answers.wait_s:g} s |",
    ):
        assert row in text


def test_pages_get_a_thread_despite_waiting_requests() -> None:
    answers = AnswerLimits()
    assert ConnectionLimits().threads > answers.computing + answers.streams + answers.waiting
