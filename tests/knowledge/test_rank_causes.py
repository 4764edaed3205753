"""Names of pauses of a rank."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.rank_causes import is_checkpoint, rank_causes_file


def test_entries_take_their_examples_and_no_counter_example() -> None:
    for rule in rank_causes_file().pauses:
        assert [name for name in rule.examples if not is_checkpoint(name)] == []
        assert [name for name in rule.counter_examples if is_checkpoint(name)] == []


@pytest.mark.parametrize("name", ["", "aten::mm", "checkpoint" * 100])
def test_other_names_are_no_pause(name: str) -> None:
    assert not is_checkpoint(name)
