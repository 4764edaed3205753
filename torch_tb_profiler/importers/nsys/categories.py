"""The category of NVTX ranges, and their raw category with the name of the domain."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from torch_tb_profiler.importers.nsys.domains import DEFAULT_DOMAIN, RangeDomains
from torch_tb_profiler.importers.nsys.markers import MarkerKind
from torch_tb_profiler.importers.nsys.nvtx import NvtxEvents
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int32

CATEGORIES: dict[MarkerKind, Category] = {
    MarkerKind.RANGE: Category.ANNOTATION,
    MarkerKind.OPERATOR: Category.OPERATOR,
    MarkerKind.STEP: Category.STEP,
    MarkerKind.DATALOADER: Category.DATALOADER,
    MarkerKind.OPTIMIZER: Category.OPTIMIZER,
    MarkerKind.LAYER: Category.ANNOTATION,
    MarkerKind.CALL_STACK: Category.ANNOTATION,
}

MARKER_DOMAINS: dict[MarkerKind, str] = {
    MarkerKind.LAYER: "layers",
    MarkerKind.CALL_STACK: "call stacks",
}
"""Domain names for markers that are written to the default domain."""

_ITERATION_NAME = re.compile(
    r".*(iteration|iter|step|batch|epoch)[\W_]*\d+", re.IGNORECASE | re.DOTALL
)


def categories_by_kind(kind: Int32, is_nested: Bools) -> Int32:
    """The category of each range by the kind of its text. An operator that does not nest is a
    range."""
    by_kind = np.array([CATEGORIES[each] for each in MarkerKind], np.int32)
    category: Int32 = by_kind[kind]
    category[~is_nested & (category == Category.OPERATOR)] = Category.ANNOTATION
    return category


def count_as_operators(names: Iterable[str]) -> Bools:
    """Whether a range counts as an operator in a recording without operators: all ranges except
    those whose name is that of an iteration."""
    return np.array([_ITERATION_NAME.fullmatch(name) is None for name in names], np.bool_)


def raw_categories(
    names: TextCodes, domains: RangeDomains, ranges: NvtxEvents, kind: Int32, category: Int32
) -> Int32:
    """The code of each range's raw category: the label of the annotation library and the domain's
    name, ``"nvtx/NCCL"``; for ranges whose text marks an operator the label alone."""
    prefix = f"{domains.label}/"
    domain_names, inverse = domains.names(ranges)
    raw = names.codes(prefix + name for name in domain_names)[inverse]
    is_default = np.array([name == DEFAULT_DOMAIN for name in domain_names], np.bool_)[inverse]
    for each, name in MARKER_DOMAINS.items():
        raw[is_default & (kind == each)] = names.code(prefix + name)
    raw[is_default & (kind == MarkerKind.OPERATOR) & (category == Category.OPERATOR)] = names.code(
        domains.label
    )
    return raw
