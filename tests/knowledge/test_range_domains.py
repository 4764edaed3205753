"""Whose a user range is."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.range_domains import (
    USER_DOMAIN,
    RangeDomain,
    range_domain,
    range_domains_file,
)

ENTRIES = range_domains_file().domains


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_takes_its_examples_and_leaves_the_others(entry: RangeDomain) -> None:
    assert {range_domain(name) for name in entry.examples} == {entry.name}
    assert all(range_domain(name) != entry.name for name in entry.counter_examples)


def test_an_unknown_range_belongs_to_the_program() -> None:
    assert range_domain("my forward") == USER_DOMAIN
    assert USER_DOMAIN not in {entry.name for entry in ENTRIES}
