"""The protocol, by the SDK's own client in this process: tools, answers, errors, progress,
cancellation, calls at once."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.types import CallToolResult, TextContent
from msgspec.structs import replace

from torch_tb_profiler._version import __version__
from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.registry import INSTRUCTIONS, TOOLS
from torch_tb_profiler.mcp.server import make_server
from torch_tb_profiler.mcp.tool import McpTool
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.server.limits import AnswerLimits

ENDLESS = "select count(*) from range(1000000) a, range(1000000) b where a.range * b.range % 7 = 3"
MODES = ("legacy", "auto")
"""The handshake of earlier versions of the protocol, and the current one."""


def with_client(
    context: ToolContext,
    use: Callable[[Client], Awaitable[None]],
    mode: str = "legacy",
    limits: AnswerLimits | None = None,
) -> None:
    async def run() -> None:
        async with Client(make_server(context, limits), mode=mode) as client:
            with anyio.fail_after(60):
                await use(client)

    anyio.run(run)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", MODES)
def test_tools_as_a_client_sees_them(context: ToolContext, mode: str) -> None:
    async def use(client: Client) -> None:
        info = client.server_info
        assert info is not None
        assert (info.name, info.version) == ("torch-tb-profiler", __version__)
        assert client.instructions == INSTRUCTIONS
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [
            "list_traces",
            "verdict",
            "table",
            "sql",
            "compare",
            "timeline_excerpt",
            "explain",
            "how_to_record",
        ]
        for tool in tools:
            Draft202012Validator.check_schema(tool.input_schema)
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.annotations.open_world_hint is False
            assert tool.description is not None
            assert 100 < len(tool.description) < 1_000

    with_client(context, use, mode)


@pytest.mark.parametrize("mode", MODES)
def test_answers_and_errors(context: ToolContext, mode: str) -> None:
    async def use(client: Client) -> None:
        result = await client.call_tool("list_traces", {"filter": "h100"})
        assert not result.is_error
        assert "h100_bert_small" in text_of(result)
        result = await client.call_tool("table", {"trace": "h100_bert_smal"})
        assert result.is_error
        assert text_of(result) == (
            "Error (unknown_trace): There is no trace 'h100_bert_smal'.\n"
            "Did you mean h100_bert_small or mi300_bert_small or h100_bert_small/rank0?"
        )
        result = await client.call_tool("table", {"limit": "many"})
        assert result.is_error
        with pytest.raises(MCPError, match="There is no tool 'tabel'"):
            await client.call_tool("tabel", {})

    with_client(context, use, mode)


def test_an_error_of_our_own_is_no_traceback(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_context: ToolContext, _arguments: dict[str, Any]) -> str:
        raise ValueError("secret detail")

    monkeypatch.setitem(TOOLS, "broken", McpTool("broken", "Broken", "Fails.", (), fail))

    async def use(client: Client) -> None:
        result = await client.call_tool("broken", {})
        assert result.is_error
        assert "secret detail" not in text_of(result)
        assert "The log of the server has the details" in text_of(result)

    with_client(context, use)


def test_a_query_that_is_cancelled_ends(context: ToolContext) -> None:
    async def use(client: Client) -> None:
        started_s = time.monotonic()
        for _ in range(5):  # one more than there are processes for queries
            with anyio.move_on_after(0.5):
                await client.call_tool("sql", {"query": ENDLESS})
        result = await client.call_tool("sql", {"query": "select 1 one"})
        assert not result.is_error
        assert time.monotonic() - started_s < 20

    with_client(context, use)


def test_progress_while_a_recording_is_read(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[float, str | None]] = []

    def read(context: ToolContext, _arguments: dict[str, Any]) -> str:
        for number in range(4):
            context.progress(SpanStatus("", f"f{number}", None, 100, "parsing", number / 4))
            time.sleep(0.6)
        return "read"

    monkeypatch.setitem(TOOLS, "read", McpTool("read", "Read", "Reads.", (), read))

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total == 1.0
        reports.append((progress, message))

    async def use(client: Client) -> None:
        result = await client.call_tool("read", {}, progress_callback=note)
        assert text_of(result) == "read"

    with_client(context, use)
    assert len(reports) >= 3
    assert [done for done, _ in reports] == sorted({done for done, _ in reports})
    assert reports[-1][1] == "Reading f3: 75 %"


def test_reading_that_takes_too_long_says_how_far_it_is(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(context: ToolContext, _arguments: dict[str, Any]) -> str:
        def ask(_wait_s: float) -> str:
            status = SpanStatus("1", "large.json", None, 10**9, "parsing", 0.4, eta_s=75.0)
            raise NotReadyError(status)

        return context.when_ready(ask)

    monkeypatch.setitem(TOOLS, "unread", McpTool("unread", "Unread", "Waits.", (), unread))

    async def use(client: Client) -> None:
        result = await client.call_tool("unread", {})
        assert result.is_error
        assert text_of(result) == (
            "Error (still_reading): Reading large.json: 40 %, about 75 s left after 0 s.\n"
            "Reading goes on: call again with the same arguments."
        )

    with_client(replace(context, wait_s=0.0), use)


def test_calls_at_once_do_not_wait_for_each_other(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_context: ToolContext, _arguments: dict[str, Any]) -> str:
        time.sleep(0.5)
        return "done"

    monkeypatch.setitem(TOOLS, "slow", McpTool("slow", "Slow", "Sleeps.", (), slow))

    async def use(client: Client) -> None:
        started_s = time.monotonic()
        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(client.call_tool, "slow", {})
            await client.list_tools()  # not blocked
            assert time.monotonic() - started_s < 0.5
        assert time.monotonic() - started_s < 3

    with_client(context, use)


def test_more_calls_than_the_limit_are_refused(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_context: ToolContext, _arguments: dict[str, Any]) -> str:
        time.sleep(0.3)
        return "done"

    monkeypatch.setitem(TOOLS, "slow", McpTool("slow", "Slow", "Sleeps.", (), slow))
    results: list[str] = []

    async def use(client: Client) -> None:
        async def call() -> None:
            results.append(text_of(await client.call_tool("slow", {})))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(call)

    limits = AnswerLimits(computing=1, waiting=2, wait_s=0.05)
    with_client(context, use, limits=limits)
    assert results.count("done") == 1
    assert sum("too many requests" in each for each in results) == 2
