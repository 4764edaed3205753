"""What names of copies tell: the examples of the file, and names that tell nothing."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.copies import copy_file, direction, host_memory

DIRECTIONS = [(entry.name, text) for entry in copy_file().directions for text in entry.examples]
MEMORIES = [(entry.name, text) for entry in copy_file().host_memories for text in entry.examples]


@pytest.mark.parametrize(("name", "example"), DIRECTIONS)
def test_directions(name: str, example: str) -> None:
    assert direction(example) == name


@pytest.mark.parametrize(("name", "example"), MEMORIES)
def test_host_memories(name: str, example: str) -> None:
    assert host_memory(example) == name


@pytest.mark.parametrize("name", ["Memcpy", "", "MEMCPY_ASYNC", "Memset (Unknown)", "x" * 10**6])
def test_names_without_a_direction(name: str) -> None:
    assert direction(name) is None
    assert host_memory(name) is None
