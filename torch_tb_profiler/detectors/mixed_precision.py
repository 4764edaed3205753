"""Matrix products run in TF32 or float32, where 16-bit types would be faster."""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.kernels.details import parse_input_types, slice_input_types
from torch_tb_profiler.analysis.recording.user_rules import kernel_types
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.kernel_time import kernel_finding, kernel_table
from torch_tb_profiler.evidence.matrix_units import (
    MATRIX_KINDS,
    compute_bound_kernels,
    matrix_unit_name,
)
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.columns import Int8

CODE = "mixed_precision"
EVIDENCE = kernel_table(CODE, "Matrix kernels on float32")
WIDE = frozenset({"tf32", "float32"})
NARROW = frozenset({"float16", "bfloat16", "float8", "float4", "int8", "uint8"})
_NARROW, _WIDE, _UNKNOWN = 1, 0, -1


def detect(context: Context) -> Finding | None:
    """Kernels that run float32 on matrix units take more than the threshold of the kernel time,
    and hardly any run a narrower type; memory-bound kernels do not count.

    The gain is their saving at the assumed speed-up.
    """
    architecture = context.architecture
    if architecture is None or "bfloat16" not in architecture.matrix_dtypes:
        return None
    matrix = context.kernels.filter(pl.col("tensor_core") == codes.YES)
    matrix = matrix.filter(
        context.match_kernel_kinds(matrix["name_code"], lambda kind: kind.kind in MATRIX_KINDS)
    )
    width, dur_ns = _widths(context, matrix), matrix["dur_ns"].to_numpy()
    known = entry(CODE).parameters
    others_ns = int(dur_ns[width != _WIDE].sum())
    if others_ns * 100 > known["max_narrow_pct"] * int(dur_ns.sum()):
        return None
    # Matrix Cores of AMD run float32 without rounding it to TF32.
    variant = "float32" if architecture.name.startswith("CDNA") else "default"
    wide = compute_bound_kernels(context, matrix, known["min_flop_per_byte"])
    saved_ns = wide["dur_ns"].to_numpy() * (1 - 1 / known["assumed_speedup"])
    return kernel_finding(
        context, EVIDENCE, wide, saved_ns, variant, values={"units": matrix_unit_name(context)}
    )


def _widths(context: Context, kernels: pl.DataFrame) -> Int8:
    """The width of the input types per kernel, by its name, or by the inputs of its operator."""
    trace = context.trace
    by_name: Int8 = codes.map_names(
        trace,
        kernels["name_code"].to_numpy(),
        lambda name: _width(kernel_types(trace, name)),
        np.int8,
    )
    inputs = np.append(slice_input_types(trace), np.int32(-1))[indices(kernels["owner"])]
    unknown = np.flatnonzero((by_name == _UNKNOWN) & (inputs >= 0))
    by_name[unknown] = codes.map_names(
        trace, inputs[unknown], lambda text: _width(parse_input_types(text)), np.int8
    )
    return by_name


def _width(types: tuple[str, ...]) -> int:
    if NARROW.intersection(types):
        return _NARROW
    return _WIDE if WIDE.intersection(types) else _UNKNOWN
