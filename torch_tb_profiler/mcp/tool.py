"""What a tool is, and the arguments that tools share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from torch_tb_profiler.mcp.answer_text import DEFAULT_BYTES, MAX_BYTES, MIN_BYTES
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.tool_arguments import ToolArgument


class McpTool(Struct, frozen=True):
    """The declaration of one tool.

    Attributes:
        name: Its stable name.
        title: For people.
        description: When to use it and what it answers; agents read nothing else.
        arguments: Its arguments.
        answer: From the context and the checked arguments, by name, to the text of the answer.
            Raises LoadingError for what agents can act on.
    """

    name: str
    title: str
    description: str
    arguments: tuple[ToolArgument, ...]
    answer: Callable[[ToolContext, dict[str, Any]], str]


TRACE = ToolArgument(
    "trace",
    'Which recording: RUN, RUN/WORKER or RUN/WORKER/SPAN as list_traces prints it; "" is the '
    "first.",
)
STEPS = ToolArgument(
    "steps", "Only these steps: 5, 5:8 (both included), 3,5:8, 'first 3' or 'last 3'; \"\" is all."
)
MAX_CHARS = ToolArgument(
    "max_chars",
    "Size of the answer in bytes; what is cut is named at its end.",
    "integer",
    DEFAULT_BYTES,
    minimum=MIN_BYTES,
    maximum=MAX_BYTES,
)
COLUMNS = ToolArgument(
    "columns", 'Keys of the columns to show, in order: "name,calls"; "" is all that have values.'
)
FILTER = ToolArgument(
    "filter",
    "Conditions joined by ';', all must hold: 'name~gemm;calls>=10'. Operators: = != > >= < <= ~ "
    "(contains) !~, =~/regular expression/; key=- is null. Text without a key searches all texts.",
)
SORT = ToolArgument("sort", "Keys, '-' for descending: '-device_self_us,name'.")
OFFSET = ToolArgument("offset", "Rows to skip.", "integer", 0, minimum=0, maximum=10**9)


def limit_argument(default: int) -> ToolArgument:
    """How many rows an answer has at most."""
    return ToolArgument("limit", "Rows at most.", "integer", default, minimum=1, maximum=1000)
