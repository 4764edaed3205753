"""When data is waited for, and what each kind of operation of a data pipeline is told to do.

The values and texts are ``data_loading.toml``; how they are used: ``docs/views-data.md``.
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
"""A type is judged by so much of it."""


class Operation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """A kind of operation.

    Attributes:
        kind: What it is called here.
        stage: The stage of loading that it belongs to.
        pattern: Regular expression of whole types, any case.
        advice: What to do where it is the bottleneck.
        examples: Types this entry must take (tests check each).
        counter_examples: Types it must not take.
    """

    kind: str
    stage: Stage
    pattern: str
    advice: str
    examples: tuple[str, ...]
    counter_examples: tuple[str, ...] = ()


class LoaderAdvice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What to do about one bottleneck of a loader of torch.

    Attributes:
        kind: Of ``analysis.steps.data_loading.diagnosis.Diagnosis``, a stage, or what the
            workers' CPU time shows.
        words: What the stage does, for people; empty for what is no stage.
        advice: What to do.
    """

    kind: str
    advice: str
    words: str = ""


class DataLoading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``data_loading.toml``, whose head tells its values."""

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
    operations: tuple[Operation, ...]
    loaders: tuple[LoaderAdvice, ...]


@once
def data_loading() -> DataLoading:
    """The entries as they stand in the file."""
    return load("data_loading.toml", DataLoading)


@once
def loader_advice() -> dict[str, LoaderAdvice]:
    """What is said of loaders of torch, by kind."""
    return {each.kind: each for each in data_loading().loaders}


@once
def _patterns() -> tuple[tuple[re.Pattern[str], Operation], ...]:
    return tuple(
        (re.compile(each.pattern, re.IGNORECASE | re.DOTALL), each)
        for each in data_loading().operations
    )


@lru_cache(maxsize=4096)
def operation_of(operation_type: str) -> Operation:
    """The kind of an operation by its type; the last kind takes all that no other does."""
    told = operation_type[:MAX_TYPE_CHARS]
    return next(each for pattern, each in _patterns() if pattern.fullmatch(told))
