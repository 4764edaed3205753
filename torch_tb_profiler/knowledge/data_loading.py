"""Thresholds for waiting on data, and the advice for each kind of pipeline operation.

The values and texts are in ``data_loading.toml``; ``docs/views-data.md`` explains their use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

Stage = Literal["fetch", "transform", "collate", "transfer"]

MAX_TYPE_CHARS = 200
"""Only this many characters of a type are matched."""


class PipelineOperationRule(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"
):
    """A kind of pipeline operation.

    Attributes:
        kind: Name of the kind.
        stage: The stage of loading that it belongs to.
        pattern: Regular expression of whole types, case-insensitive.
        advice: What to do if it is the bottleneck.
        examples: Types that must match this entry (tests check each).
        counter_examples: Types that must not match.
    """

    kind: str
    stage: Stage
    pattern: str
    advice: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()


class LoaderAdvice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The advice about one bottleneck of a DataLoader.

    Attributes:
        kind: Kind of ``analysis.steps.data_loading.diagnosis.Diagnosis``, a stage, or a result of
            the workers' CPU time.
        words: What the stage does, as a phrase; empty if it is no stage.
        advice: What to do.
    """

    kind: str
    advice: str
    words: str = ""


class DataLoading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``data_loading.toml``; its head explains the values."""

    full_pct: float
    empty_pct: float
    empty_batches_pct: float
    waited_pct: float
    ready_wait_pct: float
    most_workers: int
    busy_worker_pct: float
    busy_workers_pct: float
    idle_cores_pct: float
    computing_pct: float
    starved_pct: float
    little_work_us: float
    operations: tuple[PipelineOperationRule, ...]
    loaders: tuple[LoaderAdvice, ...]


@once
def data_loading() -> DataLoading:
    """The entries of the file."""
    return load("data_loading.toml", DataLoading)


@once
def loader_advice() -> dict[str, LoaderAdvice]:
    """Kind → the advice about DataLoaders."""
    return {each.kind: each for each in data_loading().loaders}


@once
def _patterns() -> tuple[tuple[re.Pattern[str], PipelineOperationRule], ...]:
    return tuple(
        (re.compile(each.pattern, re.IGNORECASE | re.DOTALL), each)
        for each in data_loading().operations
    )


@lru_cache(maxsize=4096)
def classify_operation(operation_type: str) -> PipelineOperationRule:
    """The kind of an operation by its type; the last kind matches everything else."""
    text = operation_type[:MAX_TYPE_CHARS]
    return next(each for pattern, each in _patterns() if pattern.fullmatch(text))
