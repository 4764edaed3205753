"""A value that is shared by all cuts of a recording must not depend on its steps."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec import Struct
from msgspec.structs import replace

import torch_tb_profiler
from tests.helpers.opening import open_file
from torch_tb_profiler.analysis.steps.iterations.resplit import (
    edges_between,
    host_range,
    with_steps_between,
)
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.trace.derived import DerivedValues, PerTrace
from torch_tb_profiler.trace.model import Trace


def handles() -> dict[str, PerTrace[Any]]:
    """Every handle of the package, by module and name."""
    found: dict[int, tuple[str, PerTrace[Any]]] = {}
    for module in pkgutil.walk_packages(torch_tb_profiler.__path__, "torch_tb_profiler."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for key, each in _handles_in(name, value):
                found.setdefault(id(each), (f"{module.name}.{key}", each))
    return dict(found.values())


def _handles_in(name: str, value: object) -> Iterator[tuple[str, PerTrace[Any]]]:
    if isinstance(value, PerTrace):
        yield name, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _handles_in(f"{name}[{key}]", each)


def same(left: Any, right: Any, depth: int = 0) -> bool:
    """Whether two values hold the same, whatever they are made of."""
    if left is right or depth > 8 or isinstance(left, Trace):
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, pl.DataFrame | pl.Series):
        return left.equals(right)
    if isinstance(left, np.ndarray):
        if left.dtype.hasobject:
            return len(left) == len(right)
        return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(
            same(left[key], right[key], depth + 1) for key in left
        )
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(
            same(a, b, depth + 1) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, Struct):
        return all(
            same(getattr(left, name), getattr(right, name), depth + 1)
            for name in left.__struct_fields__
        )
    return not isinstance(left, int | float | str | bool) or left == right


@pytest.fixture(scope="module")
def recordings(samples: Path) -> list[Trace]:
    files = ("cpu_resnet_full", "cpu_ddp4_gloo", "h100_bert_small")
    paths = (sorted((samples / name).glob("*.json.gz"))[0] for name in files)
    return [open_file(open_location(str(path)), cache=None) for path in paths]


def test_shared_values_do_not_depend_on_steps(recordings: list[Trace]) -> None:
    wrong = []
    shared = {name: handle for name, handle in handles().items() if not handle.depends_on_steps}
    assert len(shared) > 30
    for trace in recordings:
        first, last = host_range(trace)
        times = np.linspace(first, last, 8)[1:-1].astype(np.int64)
        other = with_steps_between(trace, edges_between(trace, times))
        alone = replace(other, derived=DerivedValues())
        wrong += [name for name, handle in shared.items() if not same(handle(trace), handle(alone))]
    assert "\n".join(wrong) == ""
