"""What a recording works on: shapes and element types of its matrix products and convolutions.

Definitions: ``docs/views-compare.md#surroundings``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, nearest_marked
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.knowledge import dtypes, operators
from torch_tb_profiler.knowledge.surroundings import surroundings
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import missing_reason

NO_SHAPES = "input shapes are not recorded"
NO_TYPES = "input element types are not recorded"
NO_PRODUCTS = "no matrix product or convolution with shapes"
NO_BATCH_INPUT = "no convolution, linear layer or embedding with shapes"
TF32 = "float32 on Tensor Cores (TF32)"
_NUMERIC = re.compile(r"b?float\d+|u?int8|complex\d+")
_QUOTED = re.compile(r"""['"]([^'"]*)['"]""")
_COMPARED_INPUTS = 2
MAX_SHAPE_CHARS = 10_000
"""Longer texts are not read: an operator of thousands of inputs tells no batch."""

Product = tuple[str, str]
"""An operator and the shapes of its first two tensors."""


class Workload(Struct, frozen=True):
    """What the whole recording works on.

    Attributes:
        products: Calls by operator and shapes, of products and convolutions not inside another.
        hottest: The same keys, those with most time first.
        precision_pct: Share of their time by element type.
        batch: Leading dimension that most inputs of layers have.
        reasons: Name of an attribute → why it is empty or None.
    """

    products: dict[Product, int]
    hottest: tuple[Product, ...]
    precision_pct: dict[str, float]
    batch: int | None
    reasons: dict[str, str]


class _Call(Struct, frozen=True):
    """Calls of one operator with inputs of the same shapes and types."""

    name: str
    shapes: list[list[int]]
    types: list[str]
    calls: int
    time_ns: int
    tensor_core_ns: int


@per_trace
def workload(trace: Trace) -> Workload:
    """What a trace works on; made once."""
    has_shapes = trace.operators["input_shape_code"].null_count() < trace.operators.height
    calls = list(_calls(trace)) if has_shapes else []
    products: Counter[Product] = Counter()
    times: Counter[Product] = Counter()
    by_type: Counter[str] = Counter()
    for call in calls:
        if operators.tensor_core_eligible(call.name):
            tensors = [shape for shape in call.shapes if shape][:_COMPARED_INPUTS]
            key = (call.name, " × ".join(str(shape) for shape in tensors))
            products[key] += call.calls
            times[key] += call.time_ns
            kind = _precision(call)
            if kind is not None:
                by_type[kind] += call.time_ns
    batch = _batch(calls)
    whole = by_type.total()
    reasons = {}
    no_shapes = missing_reason(trace, "input_shapes", NO_SHAPES)
    if not products:
        reasons["products"] = NO_PRODUCTS if has_shapes else no_shapes
    if not whole:
        reasons["precision_pct"] = missing_reason(trace, "input_types", NO_TYPES)
    if batch is None:
        reasons["batch"] = NO_BATCH_INPUT if has_shapes else no_shapes
    return Workload(
        dict(products),
        tuple(key for key, _ in times.most_common()),
        {kind: 100 * time / whole for kind, time in by_type.most_common()} if whole else {},
        batch,
        reasons,
    )


def _calls(trace: Trace) -> Iterator[_Call]:
    """The outermost calls that tell shapes, of operators that multiply or begin with a batch."""
    frame = operator_calls(trace)
    names = frame["name_code"].to_numpy()
    shape = frame["input_shape_code"].to_numpy()
    telling = codes.map_names(trace, names, _is_telling, np.bool_) & (shape >= 0)
    parent = call_tree(trace).parent
    outermost = telling & (gather(nearest_marked(parent, telling), parent) < 0)
    types = np.full(trace.slices.height, -1, np.int64)
    arguments = trace.operators
    types[arguments["slice"].to_numpy()] = arguments["input_type_code"].fill_null(-1).to_numpy()
    time = "host_total_ns" if trace.device_work.is_empty() else "device_total_ns"
    groups = (
        frame.with_columns(type_code=pl.Series(types[frame["slice"].to_numpy()]))
        .filter(pl.Series(outermost))
        .group_by("name_code", "input_shape_code", "type_code", maintain_order=True)
        .agg(
            pl.len().alias("calls"),
            pl.col(time).sum().alias("time_ns"),
            pl.col("tensor_core_total_ns").sum(),
        )
    )
    for name, shapes, kinds, calls, time_ns, tensor_core_ns in groups.rows():
        yield _Call(
            str(trace.strings[name]),
            _shapes(trace.text(shapes)),
            _QUOTED.findall(trace.text(kinds) or ""),
            calls,
            time_ns,
            tensor_core_ns,
        )


def _is_telling(name: str) -> bool:
    return bool(operators.tensor_core_eligible(name)) or _batch_rank(name) is not None


def _batch_rank(name: str) -> int | None:
    """Place of the rule that says which input of the operator begins with the batch."""
    rules = enumerate(surroundings().batch_inputs)
    return next((rank for rank, rule in rules if re.fullmatch(rule.pattern, name)), None)


def _shapes(text: str | None) -> list[list[int]]:
    """Shapes of the inputs, empty for what is no tensor; [] where the text is none."""
    if text is None or len(text) > MAX_SHAPE_CHARS:
        return []
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [
        value if isinstance(value, list) and all(isinstance(size, int) for size in value) else []
        for value in (values if isinstance(values, list) else [])
    ]


def _precision(call: _Call) -> str | None:
    """The element type that a call computes with: that of its first tensor of numbers."""
    for text in call.types:
        kind = dtypes.canonical(text)
        if kind is not None and _NUMERIC.fullmatch(kind):
            uses_units = 2 * call.tensor_core_ns > call.time_ns > 0
            return TF32 if kind == "float32" and uses_units else kind
    return None


def _batch(calls: list[_Call]) -> int | None:
    """The leading dimension that most inputs have, of equally many the largest."""
    rules = surroundings().batch_inputs
    for rank, rule in enumerate(rules):
        sizes: Counter[int] = Counter()
        for call in calls:
            if _batch_rank(call.name) == rank and len(call.shapes) > rule.input_index:
                shape = call.shapes[rule.input_index]
                if len(shape) > 1:
                    sizes[shape[0]] += call.calls
        if sizes:
            return max(sizes, key=lambda size: (sizes[size], size))
    return None
