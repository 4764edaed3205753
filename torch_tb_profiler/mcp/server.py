"""The tools as a server of the SDK: calls run in threads, report progress, and can be cancelled."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler._version import __version__
from torch_tb_profiler.loading.opening.memory_budget import MEMORY_HINT
from torch_tb_profiler.loading.processes.address_space import is_out_of_memory
from torch_tb_profiler.mcp.answer_text import MAX_BYTES, AnswerText
from torch_tb_profiler.mcp.context import ToolContext, status_text
from torch_tb_profiler.mcp.registry import INSTRUCTIONS, TOOLS
from torch_tb_profiler.mcp.tool import McpTool
from torch_tb_profiler.mcp.tool_arguments import input_schema, read_arguments
from torch_tb_profiler.requests.errors import LoadingError, Problem, unknown
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.server.errors import BusyError
from torch_tb_profiler.server.gate import Gate, WaitingRoom
from torch_tb_profiler.server.limits import AnswerLimits

_LOGGER = logging.getLogger(__name__)

NAME = "torch-tb-profiler"
PROGRESS_S = 0.5
"""Time between two reports of progress."""


class LatestStatus(Struct):
    """How far the recordings of a call are read: written by its thread, read by the event loop."""

    status: SpanStatus | None = None

    def update(self, status: SpanStatus) -> None:
        """Note the latest."""
        self.status = status


class ToolCalls:
    """Answers calls of tools within the limits of the server.

    Args:
        context: The recordings.
        limits: How many calls are computed at once, and how many wait.
    """

    def __init__(self, context: ToolContext, limits: AnswerLimits | None = None) -> None:
        limits = limits or AnswerLimits()
        room = WaitingRoom(limits.waiting, limits.wait_s, limits.retry_after_s)
        self._context = context
        self._gate = Gate(limits.computing, room)
        self._threads = limits.computing + limits.waiting
        self._limiter: anyio.CapacityLimiter | None = None

    async def call(
        self, tool: McpTool, given: Mapping[str, object], report: Callable[[float, str], Any]
    ) -> CallToolResult:
        """The answer of ``tool``, or why there is none; when the caller is cancelled, what the
        call waits for ends.

        Args:
            tool: The tool.
            given: The arguments as they came.
            report: Sends how far the call is, from 0 to 1, with a sentence.
        """
        cancelled = threading.Event()
        latest = LatestStatus()
        context = replace(self._context, progress=latest.update, is_cancelled=cancelled.is_set)
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self._threads)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_report, latest, report)
                result = await anyio.to_thread.run_sync(
                    lambda: self._answer(context, tool, given),
                    abandon_on_cancel=True,
                    limiter=self._limiter,
                )
                group.cancel_scope.cancel()
        finally:
            cancelled.set()
        return result

    def _answer(
        self, context: ToolContext, tool: McpTool, given: Mapping[str, object]
    ) -> CallToolResult:
        try:
            arguments = read_arguments(tool.arguments, given)
            with self._gate.slot():
                return _result(tool.answer(context, arguments))
        except (LoadingError, BusyError) as error:
            return _error(error.problem)
        except BaseException as error:  # panics of native libraries do not derive from Exception
            if is_out_of_memory(error):
                problem = Problem("out_of_memory", "There is not enough memory.", MEMORY_HINT)
                return _error(problem)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            _LOGGER.exception("answering %s failed", tool.name)
            hint = "The log of the server has the details; please report them."
            return _error(Problem("internal", "The server could not answer this.", hint))


def make_server(context: ToolContext, limits: AnswerLimits | None = None) -> Server[Any]:
    """The server with all tools.

    Args:
        context: The recordings.
        limits: How many calls are computed at once; None for those of ``serve``.
    """
    calls = ToolCalls(context, limits)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[declaration(tool) for tool in TOOLS.values()])

    async def call_tool(
        request: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            problem = unknown("tool", params.name, TOOLS).problem
            raise MCPError(INVALID_PARAMS, f"{problem.message} {problem.hint}")

        async def report(progress: float, message: str) -> None:
            await request.session.report_progress(progress, 1.0, message)

        return await calls.call(tool, params.arguments or {}, report)

    return Server(
        NAME,
        version=__version__,
        title="torch-tb-profiler",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def declaration(tool: McpTool) -> Tool:
    """The tool as agents see it."""
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.arguments),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


async def _report(latest: LatestStatus, report: Callable[[float, str], Any]) -> None:
    """Send how far recordings are read; the number grows with every message, as clients expect."""
    began_s, last = time.monotonic(), 0.0
    while True:
        await anyio.sleep(PROGRESS_S)
        status = latest.status
        if status is not None:
            waited = min(1e-3 * (time.monotonic() - began_s), 0.05)
            last = max(last + 1e-6, min(0.94, status.progress) + waited)
            await report(last, status_text(status))


def _result(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)])


def _error(problem: Problem) -> CallToolResult:
    answer = AnswerText(MAX_BYTES)
    answer.add(f"Error ({problem.code}): {problem.message}")
    if problem.hint:
        answer.add(problem.hint)
    return CallToolResult(content=[TextContent(type="text", text=answer.text())], is_error=True)
