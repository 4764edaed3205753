"""Cases: TensorBoard and ``serve`` on a bucket of each store, as a user starts them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cloud.emulators import START_S, Emulator, get_json
from tests.helpers.http import interrupt


@contextmanager
def started(*command: str) -> Iterator[str]:
    """The URL that a server prints; the server ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"},
    )
    assert process.stdout is not None
    printed: list[str] = []
    try:
        for line in process.stdout:
            printed.append(line)
            match = re.search(r"http://(localhost|127\.0\.0\.1):\d+/", line)
            if match and ("CTRL+C" in line or line.startswith("http")):
                yield match[0].replace("localhost", "127.0.0.1")
                return
        raise AssertionError("".join(printed))
    finally:
        interrupt(process)


@pytest.mark.parametrize("face", ["tensorboard", "serve"])
def test_a_bucket_is_shown(store: Emulator, samples: Path, face: str) -> None:
    sample = samples / "torch_compile_triton" / "rank0.pt.trace.json.gz"
    store.put({f"team/exp/{sample.name}": sample.read_bytes()})
    url = store.url("team")
    if face == "serve":
        command, prefix = ("torch_tb_profiler", "serve", url, "--port", "0"), "api"
    else:
        command = ("tensorboard.main", "--logdir", url, "--port", "0")
        prefix = "data/plugin/pytorch_profiler"
    with started(*command) as address:
        overview = get_json(f"{address}{prefix}/view/overview?run=exp", START_S)
        assert overview["trace"] == {"run": "exp", "worker": "rank0", "span": "default"}
        (run,) = get_json(f"{address}{prefix}/runs")["runs"]
        assert run["workers"][0]["spans"][0]["state"] == "ready"
        assert get_json(f"{address}{prefix}/about")["logdir"] == url
