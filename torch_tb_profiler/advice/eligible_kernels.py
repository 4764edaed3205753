"""Kernels of operators that could use Tensor Cores, and why they did not."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.evidence import (
    CALLS,
    KERNEL,
    OPERATOR,
    TOTAL_US,
    calls_and_time,
    filled,
)
from torch_tb_profiler.analysis import codes
from torch_tb_profiler.analysis.forests import indices
from torch_tb_profiler.analysis.kernel_kinds import eligible_slices
from torch_tb_profiler.knowledge import dtypes, gpus
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, Table, TableSpec

ALIGNMENT_BYTES = 16
"""Matrix units need rows of this many bytes (NVIDIA's matrix multiplication guide: 8 elements of
16 bits, 16 of 8 bits)."""

NO_SHAPES = "The recording holds no shapes of inputs (record_shapes)."
UNKNOWN_REASON = "the recording does not tell (record_shapes)"


def operator_kernel_ns(context: Context) -> int:
    """Time of the kernels that operators launched directly."""
    return int(context.operator_kernels["dur_ns"].sum())


def eligible_kernels(context: Context) -> pl.DataFrame:
    """Kernels (columns of ``context.kernels``) launched by the lowest eligible operators:
    eligible, with no eligible node inside."""
    kernels = context.operator_kernels
    lowest = _lowest_eligible(context.trace)
    return kernels.filter(pl.Series(lowest[indices(kernels["owner"])]))


@per_trace
def _lowest_eligible(trace: Trace) -> Bools:
    """Per slice whether it is eligible, with no eligible node inside."""
    lowest: Bools = eligible_slices(trace) == codes.YES
    parent = indices(trace.slices["parent"])
    lowest[parent[lowest & (parent >= 0)]] = False
    return lowest


def declared(code: str) -> TableSpec:
    """The evidence of a finding about such kernels."""
    return TableSpec(
        code,
        "Kernels off the Tensor Cores",
        "One row per operator, kernel and shapes of the inputs, those that took longest first.",
        (
            OPERATOR,
            KERNEL,
            Column(
                "input_shape", "Input shapes", "string", None, "Shapes of the operator's inputs."
            ),
            CALLS,
            TOTAL_US,
            Column("reason", "Reason", "string", None, "Why it did not use Tensor Cores."),
        ),
    )


def unused_evidence(context: Context, kernels: pl.DataFrame, spec: TableSpec, limit: int) -> Table:
    """Kernels by operator, input shape and reason, those that took longest first."""
    keys = ("operator_code", "name_code", "input_shape_code", "input_type_code")
    groups = calls_and_time(_with_inputs(context.trace, kernels), *keys).head(limit)
    shapes = context.texts(groups["input_shape_code"])
    types = context.texts(groups["input_type_code"])
    reasons = [
        reason_unused(shape, type_, context.architecture)
        for shape, type_ in zip(shapes, types, strict=True)
    ]
    groups = groups.with_columns(
        operator=context.texts(groups["operator_code"]),
        kernel=context.texts(groups["name_code"]),
        input_shape=shapes,
        reason=pl.Series(reasons, dtype=pl.String),
    )
    return filled(spec, groups, {"input_shape": NO_SHAPES})


def _with_inputs(trace: Trace, kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels with the name of their operator and the shapes and types of its inputs."""
    owner = kernels["owner"].to_numpy()
    described = trace.operators["slice"].to_numpy()  # ascending
    row = np.searchsorted(described, owner)
    is_described = pl.Series(np.append(described, -1)[row] == owner)
    row_or_null = pl.select(pl.when(is_described).then(pl.lit(pl.Series(row)))).to_series()
    inputs = trace.operators.select(
        pl.col("input_shape_code", "input_type_code").gather(row_or_null)
    )
    names = trace.slices["name_code"].to_numpy()[owner]
    return kernels.with_columns(*inputs.get_columns(), operator_code=pl.Series(names))


def reason_unused(
    shapes: str | None, types: str | None, architecture: gpus.Architecture | None
) -> str:
    """Why a matrix operator did not use matrix units, from its input types and shapes."""
    names = [dtypes.canonical(name) for name in _list(types) if isinstance(name, str)]
    tensors = [
        (shape, name)
        for shape, name in zip(_list(shapes), names, strict=False)
        if name is not None and isinstance(shape, list) and len(shape) > 1
    ]
    if not tensors:
        return UNKNOWN_REASON
    dtype = tensors[0][1] or ""
    taken = architecture.matrix_dtypes if architecture else ()
    if dtype not in taken:
        return _type_reason(dtype, architecture)
    size = dtypes.size_bytes(dtype) or 1
    multiple = max(1, ALIGNMENT_BYTES // size)
    sizes = [n for shape, _ in tensors for n in shape[-2:] if isinstance(n, int)]
    odd = sorted({n for n in sizes if n % multiple})
    if odd:
        return f"sizes that are no multiple of {multiple} ({', '.join(map(str, odd[:3]))})"
    small = [n for n in sizes if n < 2 * multiple]
    return "matrices too small" if small else "types and shapes fit; the library chose otherwise"


def _type_reason(dtype: str, architecture: gpus.Architecture | None) -> str:
    if architecture is None:
        return f"{dtype} inputs on a GPU of unknown generation"
    if dtype == "float32" and "tf32" in architecture.matrix_dtypes:
        return "float32 inputs and TF32 not allowed"
    return f"{dtype} inputs, which its matrix units do not take"


def _list(text: str | None) -> list[Any]:
    try:
        value = msgspec.json.decode((text or "[]").replace("'", '"'))
    except msgspec.DecodeError:
        return []
    return value if isinstance(value, list) else []


def has_matrix_units(context: Context) -> bool:
    """Whether the devices in use are known to have matrix units."""
    return context.architecture is not None and bool(context.architecture.matrix_dtypes)


def used_and_unknown_ns(context: Context) -> tuple[int, int, int]:
    """Kernel time on matrix units, of unknown use, and in all."""
    dur = context.kernels["dur_ns"].to_numpy()
    verdict = context.kernels["tensor_core"].to_numpy()
    sums = [int(dur[verdict == which].sum()) for which in (codes.YES, codes.UNKNOWN)]
    return sums[0], sums[1], int(np.sum(dur))
