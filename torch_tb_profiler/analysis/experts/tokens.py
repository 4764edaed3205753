"""How many tokens the products of a pass compute, as recorded.

The first that a recording has: the rows of grouped products (``Input Dims`` of their operators),
the number in the name of a range, the rows that a dispatch received. A token that is sent to
several experts of a rank counts once for each; padding that the shapes hold is counted.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.containment import innermost_around_start
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.experts.items import expert_items
from torch_tb_profiler.analysis.experts.passes import expert_passes
from torch_tb_profiler.analysis.experts.stages import Stage
from torch_tb_profiler.analysis.steps.phases.codes_of_slices import slice_phases
from torch_tb_profiler.analysis.steps.phases.evidence import Phase
from torch_tb_profiler.knowledge import experts
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.limits import MAX_BYTES
from torch_tb_profiler.trace.model import Trace

SHAPES, RANGE, EXCHANGE = "shapes of products", "name of a range", "rows of the dispatch"
PLAIN = "shapes of each expert's products"
"""Where a number of tokens is from."""

UNKNOWN = -1
_ALL_TO_ALL = "all_to_all"


@per_split
def pass_tokens(trace: Trace) -> pl.DataFrame:
    """Per pass ``tokens`` (null where unknown) and ``token_source``."""
    passes = expert_passes(trace)
    tokens = np.full(passes.count, UNKNOWN, np.int64)
    source = np.full(passes.count, "", object)
    for label, values in (
        (SHAPES, _of_shapes(trace)),
        (PLAIN, _of_plain_products(trace)),
        (RANGE, _of_range_names(trace)),
        (EXCHANGE, _of_exchanges(trace)),
    ):
        known = (tokens == UNKNOWN) & (values >= 0)
        tokens[known], source[known] = values[known], label
    frame = pl.DataFrame(
        {"tokens": tokens, "token_source": pl.Series(source.tolist(), dtype=pl.String)}
    )
    known = pl.col("tokens") >= 0
    return frame.with_columns(pl.when(known).then("tokens"), pl.when(known).then("token_source"))


def _of_shapes(trace: Trace) -> Int64:
    """Per pass the rows of its products; :data:`UNKNOWN` where no shape says it."""
    items, passes = expert_items(trace), expert_passes(trace)
    values = np.full(passes.count, UNKNOWN, np.int64)
    rows = np.flatnonzero(
        (items.stage == Stage.PRODUCTS) & (items.operator >= 0) & (passes.of_item >= 0)
    )
    if not len(rows):
        return values
    operators, first = np.unique(items.operator[rows], return_index=True)
    counted = _rows_of_operators(trace, operators)
    np.maximum.at(values, passes.of_item[rows[first]], counted)
    return values


def _rows_of_operators(trace: Trace, operators: Int64) -> Int64:
    inputs = pl.DataFrame({"slice": operators}).join(
        trace.operators.select("slice", "input_shape_code"), on="slice", how="left"
    )
    names = trace.slices["name_code"].to_numpy()[operators].tolist()
    known: dict[tuple[int, int], int] = {}
    values = []
    for name, shape in zip(names, inputs["input_shape_code"].to_list(), strict=True):
        if shape is None:
            values.append(UNKNOWN)
            continue
        if (name, shape) not in known:
            rule = experts.expert_rule("operator", trace.text(name) or "")
            shapes = parsed_shapes(trace.text(shape))
            known[name, shape] = UNKNOWN if rule is None else _rows(rule, shapes)
        values.append(known[name, shape])
    return np.array(values, np.int64)


def parsed_shapes(text: str | None) -> list[list[int]]:
    """The sizes of each input, ``"[[2, 8], []]"``; of what is no tensor of plausible sizes none."""
    try:
        value: Any = msgspec.json.decode(text or "[]")
    except msgspec.DecodeError:
        return []
    if not isinstance(value, list):
        return []
    return [
        each
        if isinstance(each, list)
        and all(isinstance(size, int) and 0 <= size < MAX_BYTES for size in each)
        else []
        for each in value
    ]


def _rows(rule: experts.ExpertRule, shapes: list[list[int]]) -> int:
    if rule.rows == "grouped":
        return _grouped_rows(shapes)
    if rule.rows == "first":
        return next((math.prod(shape[:-1]) for shape in shapes if len(shape) > 1), UNKNOWN)
    if rule.rows == "chosen" and rule.chosen is not None and len(shapes) > rule.chosen:
        chosen = shapes[rule.chosen]
        return math.prod(chosen) if len(chosen) == 2 else UNKNOWN
    return UNKNOWN


def _grouped_rows(shapes: list[list[int]]) -> int:
    """Rows of ``a`` [rows, k] or [groups, rows, k] with ``b`` [groups, k, n]; a gradient of the
    weights, whose groups divide k, has none."""
    if len(shapes) < 2 or len(shapes[1]) != 3 or len(shapes[0]) not in (2, 3):
        return UNKNOWN
    return math.prod(shapes[0][:-1])


def _of_plain_products(trace: Trace) -> Int64:
    """Per forward pass the rows of the products of single experts, one after the other.

    An expert multiplies its tokens by each of its weights. Weights of one shape may be several
    (gate and up), so of the sums over products with weights of one shape the smallest counts once.
    In a backward pass gradients of weights have other rows.
    """
    items, passes = expert_items(trace), expert_passes(trace)
    values = np.full(passes.count, UNKNOWN, np.int64)
    chosen = (items.stage == Stage.PRODUCTS) & (items.operator < 0) & (passes.of_item >= 0)
    rows = np.flatnonzero(chosen & (items.host >= 0))
    rows = rows[slice_phases(trace)[items.host[rows]] != Phase.BACKWARD]
    shaped = trace.operators.drop_nulls("input_shape_code").select("slice", "input_shape_code")
    if not len(rows) or shaped.is_empty():
        return values
    around = innermost_around_start(trace, shaped["slice"].to_numpy(), items.host[rows])
    products = (
        pl.DataFrame({"slice": around, "pass": passes.of_item[rows]})
        .unique("slice", keep="first", maintain_order=True)
        .join(shaped, on="slice", how="inner", maintain_order="left")
    )
    sizes = {
        code: _plain_rows(parsed_shapes(trace.text(code)))
        for code in products["input_shape_code"].unique()
    }
    sums: dict[tuple[int, tuple[int, ...]], int] = {}
    for number, code in products.select("pass", "input_shape_code").iter_rows():
        if (size := sizes[code]) is not None:
            sums[number, size[1]] = sums.get((number, size[1]), 0) + size[0]
    for (number, _), total in sums.items():
        values[number] = total if values[number] < 0 else min(values[number], total)
    return values


def _plain_rows(shapes: list[list[int]]) -> tuple[int, tuple[int, ...]] | None:
    """The rows of the first matrix, and the shape of the weight that it meets."""
    matrices = [shape for shape in shapes if len(shape) == 2]
    return (matrices[0][0], tuple(matrices[1])) if len(matrices) > 1 else None


def _of_range_names(trace: Trace) -> Int64:
    items, passes = expert_items(trace), expert_passes(trace)
    values = np.full(passes.count, UNKNOWN, np.int64)
    rows = np.flatnonzero((items.layer >= 0) & (passes.of_item >= 0))
    _, first = np.unique(items.layer[rows], return_index=True)
    slices = items.layer_slices(trace)[rows[first]]
    names = trace.slices["name_code"].to_numpy()[slices].tolist()
    for number, name in zip(passes.of_item[rows[first]].tolist(), names, strict=True):
        tokens = experts.tokens_in(trace.text(name) or "")
        if tokens is not None:
            values[number] = max(values[number], tokens)
    return values


def _of_exchanges(trace: Trace) -> Int64:
    """Per pass the rows that its dispatches received: the largest, as probabilities and scales are
    exchanged by calls of their own."""
    items, passes = expert_items(trace), expert_passes(trace)
    values = np.full(passes.count, UNKNOWN, np.int64)
    rows = np.flatnonzero(
        (passes.stage == Stage.DISPATCH) & (items.record >= 0) & (passes.of_item >= 0)
    )
    if not len(rows):
        return values
    received = received_rows(trace)[items.record[rows]]
    known = ~np.isnan(received)
    np.maximum.at(values, passes.of_item[rows[known]], received[known].astype(np.int64))
    return values


@per_split
def received_rows(trace: Trace) -> Float64:
    """Per record of communication the rows of its output, NaN where unknown: the rows of its input
    (``Input Dims`` of its metadata), by the sizes of both."""
    calls = records(trace).frame
    described = trace.collectives["slice"].unique()
    shaped = trace.operators.select("slice", "input_shape_code").filter(
        pl.col("input_shape_code").is_not_null() & pl.col("slice").is_in(described.implode())
    )
    slices = calls["slice"].to_numpy()
    around = innermost_around_start(trace, shaped["slice"].to_numpy(), slices)
    codes_of_calls = pl.DataFrame({"slice": around}).join(
        shaped, on="slice", how="left", maintain_order="left"
    )["input_shape_code"]
    rows = {code: _first_rows(trace.text(code)) for code in codes_of_calls.drop_nulls().unique()}
    sent = codes_of_calls.replace_strict(rows, default=None, return_dtype=pl.Float64)
    sizes = calls.select(
        pl.when((pl.col("collective") == _ALL_TO_ALL) & (pl.col("input_bytes") > 0)).then(
            pl.col("output_bytes") / pl.col("input_bytes")
        )
    ).to_series()
    received: Float64 = (sent * sizes).fill_null(math.nan).to_numpy()
    return received


def _first_rows(shapes: str | None) -> float | None:
    first = next((each for each in parsed_shapes(shapes) if each), [])
    return float(first[0]) if len(first) > 1 else None
