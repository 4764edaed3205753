"""docs/mcp.md has every tool and the limits of today."""

from __future__ import annotations

import re
from pathlib import Path

from torch_tb_profiler.mcp.answer_text import DEFAULT_BYTES, MAX_BYTES, MAX_NAME
from torch_tb_profiler.mcp.context import WAIT_S
from torch_tb_profiler.mcp.registry import INSTRUCTIONS, TOOLS
from torch_tb_profiler.mcp.table_files import MAX_FILE_BYTES
from torch_tb_profiler.server.limits import AnswerLimits
from torch_tb_profiler.sql.limits import MAX_TEXT

TEXT = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


def test_every_tool_is_there() -> None:
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == list(TOOLS)
    for name in TOOLS:
        assert name in INSTRUCTIONS


def test_limits_are_those_of_today() -> None:
    limits = AnswerLimits()
    for text in (
        f"{DEFAULT_BYTES:,} bytes, with `max_chars` up to {MAX_BYTES:,}",
        f"in the middle to {MAX_NAME} characters",
        f"| {WAIT_S:.0f} s, with progress",
        f"at most {MAX_FILE_BYTES >> 20} MiB",
        f"a query {MAX_TEXT:,};",
        f"{limits.computing} are computed, {limits.waiting} wait, each {limits.wait_s:.0f} s",
    ):
        assert text in TEXT, text
