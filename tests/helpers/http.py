"""Asking the server and ending processes, as several test modules do it."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import Any

from werkzeug.test import Client, TestResponse


def get(client: Client, url: str, **options: Any) -> TestResponse:
    """GET, again while the trace is being parsed."""
    for _ in range(200):
        response = client.get(url, **options)
        if response.status_code != 202:
            return response
        time.sleep(0.02)
    raise AssertionError("parsing takes too long")


def interrupt(process: subprocess.Popen[Any]) -> None:
    """Ctrl-C, and the end of the process."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
