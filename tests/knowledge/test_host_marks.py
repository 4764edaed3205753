"""Slices that tell what a program does beside its work."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge import host_marks

ENTRIES = host_marks.host_marks_file().marks


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_an_entry_takes_its_examples_and_no_counter_example(entry: host_marks.HostMark) -> None:
    assert {host_marks.mark_kind(name) for name in entry.examples} == {entry.kind}
    assert entry.kind not in {host_marks.mark_kind(name) for name in entry.counter_examples}


def test_every_kind_has_an_entry() -> None:
    assert {entry.kind for entry in ENTRIES} == set(host_marks.MARK_KINDS)


@pytest.mark.parametrize("name", ["", "aten::mm", "ProfilerStep#3", "gc.py(3): run"])
def test_work_is_no_mark(name: str) -> None:
    assert host_marks.mark_kind(name) is None
