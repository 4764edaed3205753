"""The work of a rank per step and kind of kernel: which kernels, how many, how long.

Ranks that run the same kernels for longer are slow; ranks that run more or larger ones have more to
do. A rank without device work is compared by its operators and their shapes.
"""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices, indices_at
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.user_rules import kernel_kind
from torch_tb_profiler.knowledge.experts import kernel_stage
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace

MAX_KINDS = 64
"""Kinds of kernels per rank, those with most time; the others are one kind together."""

COMPUTE_BOUND = frozenset({"gemm", "convolution", "attention"})
"""Kinds limited by the clock of the processor; most others are limited by memory."""

MEMORY, COMPUTE, EXPERT, HOST = range(4)
"""What limits a kind of work: the memory, the clock; the input of a kernel of experts, whose
duration depends on data; or, of an operator, the host."""

STEP_WORK = pl.Schema(
    {
        "step": pl.Int32,  # row of `steps`
        "kind": pl.Int64,  # hash of name, grid, block and shapes of the operator; 0 for all others
        "name": pl.Int64,  # hash of the name alone, 0 likewise
        "limit": pl.Int8,  # MEMORY, COMPUTE, EXPERT, HOST
        "calls": pl.Int32,
        "total_ns": pl.Float32,
    }
)
"""One row per step and kind of work."""


@per_split
def step_work(trace: Trace) -> pl.DataFrame:
    """The work of a rank as :data:`STEP_WORK`."""
    kinds = kernel_kinds(trace)
    is_kernel = kinds.is_kernel & ~kinds.is_communication
    work = _of_kernels(trace, np.flatnonzero(is_kernel)) if is_kernel.any() else _of_host(trace)
    work = work.filter(pl.col("step") >= 0)
    by_kind = ("name_code", "grid_code", "block_code", "input_shape_code")
    largest = (
        work.group_by(by_kind)
        .agg(pl.col("dur_ns").sum())
        .sort("dur_ns", *by_kind, descending=[True, *(False for _ in by_kind)])
        .head(MAX_KINDS)
    )
    texts = [_texts(trace, largest[column]) for column in by_kind]
    described = ["\n".join(parts) for parts in zip(*texts, strict=True)]
    largest = largest.select(
        *by_kind,
        kind=pl.Series([_hash(text) for text in described], dtype=pl.Int64),
        name=pl.Series([_hash(text) for text in texts[0]], dtype=pl.Int64),
        limit=pl.Series([_limit(trace, text) for text in texts[0]], dtype=pl.Int8)
        if is_kernel.any()
        else pl.lit(HOST, pl.Int8),
    )
    rest = HOST if not is_kernel.any() else MEMORY
    frame = (
        work.join(largest, on=by_kind, how="left")
        .with_columns(pl.col("kind", "name").fill_null(0), pl.col("limit").fill_null(rest))
        .group_by("step", "kind", "name", "limit")
        .agg(
            pl.len().alias("calls"),
            pl.col("dur_ns").sum().alias("total_ns"),
        )
        .sort("step", "kind")
    )
    return frame.select(STEP_WORK.names()).cast(STEP_WORK)


def _of_kernels(trace: Trace, rows: Int64) -> pl.DataFrame:
    """The rows of kernels; those of experts without sizes, which differ from layer to layer with
    the tokens: each would be a kind of its own."""
    work = trace.device_work
    names = indices_at(work["name_code"], rows)
    is_routed = codes.names_match(trace, names, _is_routed)
    sizes = {
        "grid_code": indices_at(work["grid_code"], rows),
        "block_code": indices_at(work["block_code"], rows),
        "input_shape_code": _shapes(trace, indices_at(work["owner"], rows)),
    }
    return pl.DataFrame(
        {
            "step": indices_at(trace.slices["step"], indices_at(work["slice"], rows)),
            "name_code": names,
            **{column: np.where(is_routed, -1, values) for column, values in sizes.items()},
            "dur_ns": work["dur_ns"].to_numpy()[rows],
        }
    )


def _of_host(trace: Trace) -> pl.DataFrame:
    """The time of operators themselves, without what they call."""
    operators = trace.slices.select("id", "category", "step", "name_code", "self_ns").filter(
        (pl.col("category") == Category.OPERATOR) & (pl.col("self_ns") > 0)
    )
    count = operators.height
    return pl.DataFrame(
        {
            "step": indices(operators["step"]),
            "name_code": indices(operators["name_code"]),
            "grid_code": np.full(count, -1, np.int64),
            "block_code": np.full(count, -1, np.int64),
            "input_shape_code": _shapes(trace, operators["id"].to_numpy()),
            "dur_ns": operators["self_ns"].to_numpy(),
        }
    )


def _shapes(trace: Trace, operator: Int64) -> Int64:
    """The code of the shapes of operators (-1: none), -1 where they are not recorded."""
    known = trace.operators["slice"].to_numpy()
    row = np.searchsorted(known, operator)
    row = np.where(gather(known, np.where(row < len(known), row, -1)) == operator, row, -1)
    return gather(indices(trace.operators["input_shape_code"]), row)


def _texts(trace: Trace, column: pl.Series) -> list[str]:
    known = codes.texts(trace, column.set(column < 0, None))
    return [text or "" for text in known.to_list()]


def _hash(text: str) -> int:
    """A number that is the same for the same text in all processes."""
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True) or 1


def _limit(trace: Trace, name: str) -> int:
    if _is_routed(name):
        return EXPERT
    return COMPUTE if kernel_kind(trace, name).kind in COMPUTE_BOUND else MEMORY


def _is_routed(name: str) -> bool:
    """Whether a kernel of this name takes longer the more tokens were routed to its rank."""
    return kernel_stage(name) in ("products", "permutation")
