"""Answers of the tools for agents: how they are asked for, and their tables as rows."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.registry import TOOLS
from torch_tb_profiler.mcp.tool_arguments import read_arguments
from torch_tb_profiler.storage.shared_cache import open_cache

Ask = Callable[..., str]


@contextmanager
def opened(folder: Path, cache: Path | None = None, **options: Any) -> Iterator[ToolContext]:
    """The recordings of a folder, as the server has them."""
    cache_folder = None if cache is None else open_cache(cache)
    store = TraceStore(cache=cache_folder)
    root = TraceRoot(str(folder), **options)
    catalog = Catalog([root], cache=cache_folder, store=store, rescan_s=math.inf)
    try:
        yield ToolContext(catalog, cache_folder)
    finally:
        store.close()


def asking(context: ToolContext) -> Ask:
    """``ask(tool, **arguments)``: the text of the answer."""

    def ask(tool: str, **arguments: Any) -> str:
        declared = TOOLS[tool]
        return declared.answer(context, read_arguments(declared.arguments, arguments))

    return ask


def rows_of(text: str, first_column: str) -> list[dict[str, str]]:
    """The rows of the table whose header begins with a column."""
    lines = text.split("\n")
    at = next(at for at, line in enumerate(lines) if line.split("\t")[0] == first_column)
    header = lines[at].split("\t")
    rows = []
    for line in lines[at + 1 :]:
        cells = line.split("\t")
        if len(cells) != len(header) or len(header) == 1:
            break
        rows.append(dict(zip(header, cells, strict=True)))
    return rows


def events_of(folder: Path) -> list[dict[str, Any]]:
    """The events of the first recording of a folder, read by Python's own decoder."""
    path = min(folder.glob("*.gz"))
    events: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return events
