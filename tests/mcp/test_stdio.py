"""The server as a process on stdin and stdout, by the SDK's own client; lines that are no
messages; it ends when stdin ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import TextContent


def test_a_process_answers_its_client(samples: Path, tmp_path: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "torch_tb_profiler", "mcp", str(samples), "--cache-dir", str(tmp_path)],
        env=dict(os.environ),
    )

    async def run() -> None:
        async with Client(parameters) as client:
            assert len((await client.list_tools()).tools) == 8
            result = await client.call_tool("verdict", {"trace": "torch_compile_triton"})
            (content,) = result.content
            assert isinstance(content, TextContent)
            assert not result.is_error
            assert "Recording: torch_compile_triton/rank0/default" in content.text

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(run)


def test_what_is_no_message_does_not_end_it(samples: Path) -> None:
    start = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    lines = ["no json", json.dumps({"jsonrpc": "2.0"}), "[" * 10_000, json.dumps(start)]
    done = subprocess.run(
        [sys.executable, "-m", "torch_tb_profiler", "mcp", str(samples), "--no-cache"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    (started,) = (each for each in answers if each.get("id") == 1)
    assert started["result"]["serverInfo"]["name"] == "torch-tb-profiler"
    assert done.returncode == 0
    assert "Traceback" not in done.stdout
