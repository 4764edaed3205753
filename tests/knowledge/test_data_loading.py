"""Each kind of operation takes its examples; the thresholds are those that were published."""

from __future__ import annotations

import re

import pytest

from torch_tb_profiler.knowledge.data_loading import (
    PipelineOperationRule,
    classify_operation,
    data_loading,
)


@pytest.mark.parametrize("kind", data_loading().operations, ids=lambda kind: str(kind.kind))
def test_examples(kind: PipelineOperationRule) -> None:
    assert kind.advice.endswith(".")
    assert all(classify_operation(example) is kind for example in kind.examples)
    pattern = re.compile(kind.pattern, re.IGNORECASE)
    assert not any(pattern.fullmatch(example) for example in kind.counter_examples)


def test_published_thresholds() -> None:
    thresholds = data_loading()
    assert (thresholds.full_pct, thresholds.empty_pct, thresholds.empty_batches_pct) == (80, 60, 30)


def test_any_type_is_of_some_kind() -> None:
    assert classify_operation("").kind == "other"
    assert classify_operation("x\n" * 5000).kind == "other"
