"""A server that is closed while answers are running ends silently."""

from __future__ import annotations

import logging
import socket
from typing import Any

import pytest

from torch_tb_profiler.server.http_server import HttpServer
from torch_tb_profiler.server.limits import ConnectionLimits


def nothing(_environ: dict[str, Any], _start_response: Any) -> list[bytes]:
    return []


def test_a_thread_that_finishes_after_the_end_is_harmless(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = HttpServer(nothing, socket.create_server(("127.0.0.1", 0)), ConnectionLimits())
    with caplog.at_level(logging.DEBUG):
        server.close()
        server.pull_trigger()
    assert not caplog.records


def test_a_failing_wakeup_of_the_loop_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    server = HttpServer(nothing, socket.create_server(("127.0.0.1", 0)), ConnectionLimits())

    def fails() -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(server.trigger, "pull_trigger", fails)
    with pytest.raises(OSError, match="Bad file"):
        server.pull_trigger()
    server.close()
    server.pull_trigger()
