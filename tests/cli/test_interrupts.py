"""Cases: Ctrl-C while a store does not answer ends each command at once, with exit code 130 and no
traceback; twice as well."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.stalls import FaultyEndpoint, faulty_endpoint
from torch_tb_profiler.storage.deadlines import TIMEOUT_VARIABLE

pytestmark = pytest.mark.alone

Writer = Callable[..., Path]

START_S = 60
STORE_S = 600
"""How long the store would be waited for: whatever ends sooner was ended by the signal."""


@pytest.fixture
def endpoint() -> Iterator[FaultyEndpoint]:
    pytest.importorskip("s3fs", reason="pip install '.[cloud-test]'")
    with faulty_endpoint() as endpoint:
        endpoint.always("silent")
        yield endpoint


@pytest.mark.parametrize(
    ("arguments", "times"),
    [
        (["report", "s3://bucket/run"], 1),
        (["report", "s3://bucket/run"], 2),
        (["serve", "s3://bucket/run", "--port", "0"], 1),
        (["ingest", "s3://bucket/run"], 1),
        (["ingest", "s3://bucket/run"], 2),
        (["compare", "s3://bucket/run", "s3://bucket/other"], 1),
        (["report", "LOCAL", "--cache-dir", "s3://bucket/cache"], 1),
        (["ingest", "LOCAL", "--cache-dir", "s3://bucket/cache"], 1),
    ],
)
def test_an_interrupt_ends_a_command_that_waits_for_a_store(
    endpoint: FaultyEndpoint,
    arguments: list[str],
    times: int,
    tmp_path: Path,
    write_trace: Writer,
) -> None:
    write_trace(tmp_path / "logs" / "w.pt.trace.json")
    given = [str(tmp_path / "logs") if word == "LOCAL" else word for word in arguments]
    command = subprocess.Popen(
        [sys.executable, "-m", "torch_tb_profiler", *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "AWS_ENDPOINT_URL": endpoint.url,
            "AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST",
            "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests",
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            TIMEOUT_VARIABLE: str(STORE_S),
        },
    )
    until_s = time.monotonic() + START_S
    while not endpoint.requests:
        assert time.monotonic() < until_s, "it asks nothing"
        assert command.poll() is None, command.communicate()
        time.sleep(0.02)
    for _ in range(times):
        command.send_signal(signal.SIGINT)
        time.sleep(0.05)
    _, result = command.communicate(timeout=START_S)
    # A second one may meet Python when it has given the signal back to the system already.
    assert command.returncode in ((130,) if times == 1 else (130, -signal.SIGINT))
    assert "Traceback" not in result
