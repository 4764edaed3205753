"""What HLO operations do, by category and name."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.hlo import (
    HloEntry,
    hlo_entries,
    hlo_entry,
    hlo_kernel_kind,
    hlo_operator_type,
)
from torch_tb_profiler.knowledge.kernels import kernel_file
from torch_tb_profiler.knowledge.operator_types import TYPES


@pytest.mark.parametrize("entry", hlo_entries(), ids=lambda entry: entry.name)
def test_an_entry_has_its_examples_and_known_kinds(entry: HloEntry) -> None:
    assert all(hlo_entry(text) is entry for text in entry.examples)
    assert all(hlo_entry(text) is not entry for text in entry.counter_examples)
    assert entry.kind in kernel_file().kinds
    assert entry.type in TYPES


def test_numbers_behind_a_name_do_not_matter() -> None:
    kind = hlo_kernel_kind("all-reduce-start.12")
    assert kind is not None
    assert (kind.kind, kind.communication, kind.tensor_core) == ("communication", True, None)
    assert hlo_operator_type("dot.7") == "matrix_product"


def test_what_only_says_how_it_is_built_is_unknown() -> None:
    for text in ("fusion.3", "custom fusion", "output fusion", "custom-call.1", ""):
        assert hlo_kernel_kind(text) is None
