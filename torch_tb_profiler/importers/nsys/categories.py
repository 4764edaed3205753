"""Which category an NVTX range is of, in the words of the trace and in those of the format."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from torch_tb_profiler.importers.nsys.domains import DEFAULT, Domains
from torch_tb_profiler.importers.nsys.markers import Kind
from torch_tb_profiler.importers.nsys.names import Names
from torch_tb_profiler.importers.nsys.nvtx import NvtxEvents
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int32

CATEGORIES: dict[Kind, Category] = {
    Kind.RANGE: Category.ANNOTATION,
    Kind.OPERATOR: Category.OPERATOR,
    Kind.STEP: Category.STEP,
    Kind.DATALOADER: Category.DATALOADER,
    Kind.OPTIMIZER: Category.OPTIMIZER,
    Kind.LAYER: Category.ANNOTATION,
    Kind.CALL_STACK: Category.ANNOTATION,
}

OPERATORS = "nvtx"
"""Raw category of what the texts tell to be an operator."""

RANGES = "nvtx/"
"""Beginning of the raw category of ranges; the name of their domain follows."""

DOMAINS: dict[Kind, str] = {Kind.LAYER: "layers", Kind.CALL_STACK: "call stacks"}
"""Domains of markers that are written into the default one."""

_COUNTED = re.compile(r".*(iteration|iter|step|batch|epoch)[\W_]*\d+", re.IGNORECASE | re.DOTALL)


def categories_of(kind: Int32, is_nested: Bools) -> Int32:
    """The category of each range by what its text is. An operator that does not nest is a range."""
    of_kind = np.array([CATEGORIES[each] for each in Kind], np.int32)
    category: Int32 = of_kind[kind]
    category[~is_nested & (category == Category.OPERATOR)] = Category.ANNOTATION
    return category


def count_as_operators(names: Iterable[str]) -> Bools:
    """Which ranges stand for operators where a recording names none: all but those that are one
    iteration each."""
    return np.array([_COUNTED.fullmatch(name) is None for name in names], np.bool_)


def raw_categories(
    names: Names, domains: Domains, ranges: NvtxEvents, kind: Int32, category: Int32
) -> Int32:
    """The code of each range's category in the words of the format: with its domain, but for
    operators that the texts tell."""
    listed, place = domains.names(ranges)
    raw = names.codes(RANGES + name for name in listed)[place]
    is_default = np.array([name == DEFAULT for name in listed], np.bool_)[place]
    for each, name in DOMAINS.items():
        raw[is_default & (kind == each)] = names.code(RANGES + name)
    raw[is_default & (kind == Kind.OPERATOR) & (category == Category.OPERATOR)] = names.code(
        OPERATORS
    )
    return raw
