"""How the tokens of a rank are divided: over the ranks it sends them to, over its own experts.

The sizes of the parts of a dispatch (``In split size`` of its metadata) say how many tokens go to
each rank of the group, of which torch records the first 30. Lists of sizes among the inputs of
grouped products say how many tokens each expert of the rank computes.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.containment import innermost_around
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.experts.items import expert_items
from torch_tb_profiler.analysis.experts.passes import expert_passes
from torch_tb_profiler.analysis.experts.stages import Stage
from torch_tb_profiler.analysis.experts.tokens import parsed_shapes
from torch_tb_profiler.knowledge import experts
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

EXPERT_SHARES = pl.Schema(
    {
        "step": pl.Int32(),  # row of ``steps``
        "kind": pl.String(),  # RANK, EXPERT
        "group_key": pl.String(),  # of the dispatches, for ranks
        # over all passes of the step, by position of the rank in the group or number of the expert
        "tokens": pl.List(pl.Int64),
    }
)
"""One row per step, kind and group."""

RANK, EXPERT = "rank", "expert"
MAX_PARTS = 4096
"""Parts of a dispatch, or experts of a rank, beyond these are not read."""
_CUT = "..."


@per_split
def expert_share_facts(trace: Trace) -> pl.DataFrame:
    """The shares of a rank as :data:`EXPERT_SHARES`."""
    parts = [each for each in (_of_ranks(trace), _of_experts(trace)) if each.height]
    if not parts:
        return pl.DataFrame(schema=EXPERT_SHARES)
    return (
        pl.concat(parts, how="diagonal_relaxed")
        .group_by("step", "kind", "group_key", "number", maintain_order=True)
        .agg(pl.col("tokens").sum())
        .sort("number", maintain_order=True)
        .group_by("step", "kind", "group_key", maintain_order=True)
        .agg("tokens")
        .sort("step", "kind", maintain_order=True)
        .select(pl.col(key).cast(dtype) for key, dtype in EXPERT_SHARES.items())
    )


def _of_ranks(trace: Trace) -> pl.DataFrame:
    """The parts of the largest dispatch of each pass; others move probabilities and scales."""
    items, passes = expert_items(trace), expert_passes(trace)
    rows = np.flatnonzero(
        (passes.stage == Stage.DISPATCH) & (items.record >= 0) & (passes.of_item >= 0)
    )
    described = trace.collectives.drop_nulls("in_splits_code")
    if not len(rows) or described.is_empty():
        return pl.DataFrame(schema=EXPERT_SHARES)
    calls = records(trace).frame[items.record[rows]]
    source = innermost_around(trace, described["slice"].to_numpy(), calls["slice"].to_numpy())
    source = np.where(source >= 0, source, calls["work"].to_numpy())
    largest = (
        calls.select("group_key", "input_bytes", slice=pl.Series(source))
        .with_columns(number_of_pass=passes.of_item[rows], step=items.step[rows])
        .sort("input_bytes", descending=True, nulls_last=True, maintain_order=True)
        .unique("number_of_pass", keep="first", maintain_order=True)
        .join(described.select("slice", "in_splits_code"), on="slice", how="inner")
    )
    texts = largest["in_splits_code"].unique()
    lists = pl.DataFrame(
        {"in_splits_code": texts, "tokens": [_parts(trace.text(code)) for code in texts]},
        schema_overrides={"tokens": pl.List(pl.Int64)},
    ).filter(pl.col("tokens").list.len() > 0)
    return _exploded(largest.join(lists, on="in_splits_code", how="inner"), RANK)


def _exploded(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    """One row per part of the lists ``tokens``."""
    return (
        rows.filter(pl.col("step") >= 0)
        .with_columns(number=pl.int_ranges(pl.col("tokens").list.len()), kind=pl.lit(kind))
        .explode("tokens", "number")
        .select("step", "kind", "group_key", "number", "tokens")
    )


def _parts(text: str | None) -> list[int]:
    """The sizes of ``"[1024, 512, ...]"``; none of what is no such list."""
    parts = [part.strip() for part in (text or "").strip().strip("[]").split(",")]
    sizes = parts[:-1] if parts[-1] == _CUT else parts
    if not all(size.isdecimal() and len(size) < experts.MAX_DIGITS for size in sizes):
        return []
    return [int(size) for size in sizes[:MAX_PARTS]]


def _of_experts(trace: Trace) -> pl.DataFrame:
    """The lists of sizes of the first grouped product of each pass that has one."""
    items, passes = expert_items(trace), expert_passes(trace)
    rows = np.flatnonzero(
        (items.stage == Stage.PRODUCTS) & (items.operator >= 0) & (passes.of_item >= 0)
    )
    inputs = trace.operators.select("slice", "concrete_inputs_code", "input_shape_code")
    calls = pl.DataFrame(
        {
            "slice": items.operator[rows],
            "number_of_pass": passes.of_item[rows],
            "step": items.step[rows],
            "name": trace.slices["name_code"].to_numpy()[items.operator[rows]],
        }
    ).join(inputs.drop_nulls(), on="slice", how="inner", maintain_order="left")
    keys = ("name", "concrete_inputs_code", "input_shape_code")
    distinct = calls.select(keys).unique(maintain_order=True)
    if distinct.is_empty():
        return pl.DataFrame(schema=EXPERT_SHARES)
    lists = distinct.with_columns(
        tokens=pl.Series(
            [_sizes(*(trace.text(code) for code in row)) for row in distinct.iter_rows()],
            dtype=pl.List(pl.Int64),
        )
    ).filter(pl.col("tokens").list.len() > 0)
    first = calls.join(lists, on=keys, how="inner", maintain_order="left").unique(
        "number_of_pass", keep="first", maintain_order=True
    )
    return _exploded(first.with_columns(group_key=pl.lit(None, pl.String)), EXPERT)


def _sizes(name: str | None, values: str | None, shapes: str | None) -> list[int]:
    """The list of integers among the inputs of an operator that divides the rows of its first
    matrix; none where there is no such list."""
    rule = experts.expert_rule("operator", name or "")
    if rule is None or not rule.sizes:
        return []
    rows = next((shape[0] for shape in parsed_shapes(shapes) if len(shape) > 1), -1)
    lists = (_parts(value) for value in _texts(values) if value.startswith("["))
    return next((sizes for sizes in lists if sizes and sum(sizes) == rows), [])


def _texts(text: str | None) -> list[str]:
    try:
        values: Any = msgspec.json.decode(text or "[]")
    except msgspec.DecodeError:
        return []
    values = values if isinstance(values, list) else []
    return [str(value).replace("'", "") for value in values]
