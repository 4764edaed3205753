"""Every tool over every sample, with the largest and the smallest answers: within the size, and
what is left out is named."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tests.helpers.mcp_answers import Ask
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.mcp.trace_names import all_files, whole_name
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.views.registry import all_views


@pytest.mark.parametrize("size", [1_000, 20_000])
def test_tools_over_all_samples(context: ToolContext, ask: Ask, size: int) -> None:
    files = {file.run: file for file in all_files(context)}  # one of each run
    names = [whole_name(file) for file in files.values()]
    calls = [
        (tool, {"trace": name})
        for name in names
        for tool in ("verdict", "table", "timeline_excerpt", "how_to_record")
    ]
    calls += [("compare", {"baseline": name, "trace": names[-1]}) for name in names[:3]]
    calls += [("explain", {"name": name}) for name in ("total_us", "communication", "step")]
    calls += [("sql", {}), ("sql", {"describe": "operators"}), ("list_traces", {})]
    cut = 0
    for tool, arguments in calls:
        text = ask(tool, max_chars=size, **arguments)
        assert 0 < len(text.encode()) <= size, (tool, arguments)
        cut += "Left out: " in text
    assert (cut > 20) == (size == 1_000)


def test_views_of_large_tables(ask: Ask) -> None:
    for view in all_views().values():
        if view.scope == "pair":
            continue
        with suppress(LoadingError):  # it has no data for the view
            text = ask("table", trace="kineto_resnet50_nw0", view=view.name, limit=1000)
            assert len(text.encode()) <= 12_000, view.name
