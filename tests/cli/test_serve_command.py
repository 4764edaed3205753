"""``serve``: prints its address, answers there, reports an invalid path or address."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Done

Run = Callable[..., Done]


@pytest.fixture
def server(resnet: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "torch_tb_profiler", "serve", str(resnet), "--port", "0",
               "--cache-dir", str(tmp_path)]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=os.environ) as process:  # fmt: skip
        yield process
        process.kill()


def test_serve_prints_its_address_and_ends_on_interrupt(
    server: subprocess.Popen[str],
) -> None:
    assert server.stdout is not None
    assert server.stderr is not None
    address = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
    assert address is not None
    with urllib.request.urlopen(address.group() + "api/runs", timeout=20) as answer:
        assert "runs" in json.load(answer)
    server.send_signal(signal.SIGINT)
    assert server.wait(20) == 0
    assert "Traceback" not in server.stderr.read()


def test_a_missing_path_is_3(run: Run, tmp_path: Path) -> None:
    done = run("serve", tmp_path / "missing", "--port", "0")
    assert done.code == 3
    assert "does not exist" in done.err


def test_a_used_port_is_2_with_the_next_step(run: Run, samples: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("serve", samples, "--port", taken.getsockname()[1])
    assert done.code == 2
    assert "--port" in done.err
    assert run("serve", samples, "--port", "70000").code == 2


def test_an_invalid_token_is_2_with_the_next_step(run: Run, samples: Path) -> None:
    for token in ("", "a b", "schlüssel"):
        done = run("serve", samples, "--port", "0", f"--token={token}")
        assert done.code == 2
        assert "--token auto" in done.err


@pytest.mark.parametrize("options", [["--token"], ["--token", "auto"]])
def test_a_token_is_generated_and_its_absence_warned_about(
    resnet: Path, tmp_path: Path, options: list[str]
) -> None:
    # Another way to write 127.0.0.1, which is not taken for it.
    for more, host in ((options, "127.0.0.1"), ([], "127.1")):
        command = [sys.executable, "-um", "torch_tb_profiler", "serve", str(resnet), "--port", "0",
                   "--cache-dir", str(tmp_path), "--host", host, *more]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            url = process.stdout.readline()
            assert bool(re.search(r"\?token=[\w-]{32}$", url.strip())) == bool(more)
            if not more:
                assert "can read these traces" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.stdout.read() == "Stopped.\n"
            assert process.wait(20) == 0


def test_the_token_from_the_environment(resnet: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-um", "torch_tb_profiler", "serve", str(resnet), "--port", "0",
               "--cache-dir", str(tmp_path)]  # fmt: skip
    environment = {**os.environ, "TORCH_TB_PROFILER_TOKEN": "k3y"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.endswith("/?token=k3y")
        request = urllib.request.Request(
            url.replace("?token=k3y", "api/about"), headers={"Authorization": "Bearer k3y"}
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


@pytest.mark.parametrize("name", ["http://traces.example.org", "traces:80", "a b", ""])
def test_an_invalid_host_name_is_2(run: Run, samples: Path, name: str) -> None:
    done = run("serve", samples, "--port", "0", "--allow-host", name)
    assert done.code == 2
    assert "not a host name" in done.err
