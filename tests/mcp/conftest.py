"""The sample recordings, opened once for all tests of the tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.mcp_answers import Ask, asking, opened
from torch_tb_profiler.mcp.context import ToolContext


@pytest.fixture(scope="session")
def context(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolContext]:
    with opened(samples, tmp_path_factory.mktemp("cache")) as opened_context:
        yield opened_context


@pytest.fixture(scope="session")
def ask(context: ToolContext) -> Ask:
    return asking(context)
