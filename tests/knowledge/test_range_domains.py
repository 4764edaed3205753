"""Whose a user range is."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.range_domains import (
    USER_DOMAIN,
    RangeDomain,
    range_domain,
    range_domains_file,
)
from torch_tb_profiler.recorder.events import EVALUATION
from torch_tb_profiler.recorder.windows.profiling import RANGES
from torch_tb_profiler.recorder.windows.window import DISCARDED_NAMES

ENTRIES = range_domains_file().domains


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_entry_takes_its_examples_and_leaves_the_others(entry: RangeDomain) -> None:
    assert {range_domain(name) for name in entry.examples} == {entry.name}
    assert all(range_domain(name) != entry.name for name in entry.counter_examples)


def test_an_unknown_range_belongs_to_the_program() -> None:
    assert range_domain("my forward") == USER_DOMAIN
    assert USER_DOMAIN not in {entry.name for entry in ENTRIES}


def test_what_the_recorder_marks_is_not_the_programs() -> None:
    names = [name.decode() for name in DISCARDED_NAMES] + [f"{RANGES[EVALUATION]}7"]
    assert {range_domain(name) for name in names} == {"recorder"}
