"""Kernels of operators that could use matrix units (Tensor Cores), and why they did not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.recording.kernel_kinds import eligible_slices
from torch_tb_profiler.evidence.arithmetic_intensity import flop_per_byte, listed
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.tables import (
    CALLS,
    KERNEL,
    OPERATOR,
    TOTAL_US,
    calls_and_time,
    filled,
)
from torch_tb_profiler.knowledge import dtypes, gpus
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import null_reasons
from torch_tb_profiler.views.schema import Column, Table, TableSpec

ALIGNMENT_BYTES = 16
"""Matrix units need rows of this many bytes (NVIDIA's matrix multiplication guide: 8 elements of
16 bits, 16 of 8 bits)."""


class Why(NamedTuple):
    """A reason.

    Attributes:
        cause: What can be done about it: ``"tf32"`` (float32 where TF32 would be allowed),
            ``"float32"``, ``"type"``, ``"sizes"``, ``"small"``, ``"library"``, ``"unknown"``.
        text: For people.
    """

    cause: str
    text: str


UNKNOWN = Why("unknown", "the recording does not tell types and shapes of inputs")


def why_unused(
    shapes: str | None,
    types: str | None,
    architecture: gpus.Architecture | None,
    unknown: str = UNKNOWN.text,
    allows_tf32: bool | None = None,
) -> Why:
    """Why the operator with these inputs did not use the matrix units of its device; ``unknown``
    where the recording does not tell of inputs, ``allows_tf32`` where it tells whether float32
    products may run in TF32."""
    names = [dtypes.canonical(name) for name in listed(types) if isinstance(name, str)]
    tensors = [
        (shape, name)
        for shape, name in zip(listed(shapes), names, strict=False)
        if name is not None and isinstance(shape, list) and len(shape) > 1
    ]
    if not tensors:
        return UNKNOWN._replace(text=unknown)
    dtype = tensors[0][1] or ""
    taken = architecture.matrix_dtypes if architecture else ()
    if dtype not in taken:
        return _of_type(dtype, architecture, allows_tf32)
    size = dtypes.size_bytes(dtype) or 1
    multiple = max(1, ALIGNMENT_BYTES // size)
    sizes = [n for shape, _ in tensors for n in shape[-2:] if isinstance(n, int)]
    odd = sorted({n for n in sizes if n % multiple})
    if odd:
        listing = ", ".join(map(str, odd[:3]))
        return Why("sizes", f"sizes that are no multiple of {multiple} ({listing})")
    if any(n < 2 * multiple for n in sizes):
        return Why("small", "matrices too small")
    return Why("library", "types and shapes fit; the library chose otherwise")


def _of_type(dtype: str, architecture: gpus.Architecture | None, allows_tf32: bool | None) -> Why:
    if architecture is None:
        return Why("unknown", f"{dtype} inputs on a GPU of unknown generation")
    if dtype == "float32" and "tf32" in architecture.matrix_dtypes:
        if allows_tf32:
            return Why("library", "float32 inputs; TF32 is allowed, the library chose otherwise")
        return Why("tf32", "float32 inputs and TF32 not allowed")
    text = f"{dtype} inputs, which its matrix units do not take"
    return Why("float32" if dtype == "float32" else "type", text)


MATRIX_KINDS = frozenset({"gemm", "convolution", "attention", "rnn"})
"""Kinds of kernels that matrix units could do; eligible operators also launch copies and sums, and
products with a vector, which memory limits."""

MEMORY_LIMITS = frozenset({"flashinfer-decode", "attention-helpers"})
"""Rules of ``kernels.toml`` for attention that memory limits: of one token each, and what prepares
and joins."""

UNITS = {"CDNA": "Matrix Cores", "Xe": "XMX engines"}
"""Start of the name of an architecture → what its vendor calls matrix units."""

KEYS = ("operator_code", "name_code", "input_shape_code", "input_type_code")
NO_SHAPES = "The recording holds no shapes of inputs."


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


class OffMatrixUnits(NamedTuple):
    """Kernels by operator, shapes and types of the inputs.

    Attributes:
        evidence: Those that took longest first.
        why: The reason of most of the time.
    """

    evidence: Table
    why: Why


def off_matrix_units(
    context: Context, kernels: pl.DataFrame, spec: TableSpec, limit: int
) -> OffMatrixUnits:
    """The evidence of kernels off the matrix units, and the main reason."""
    groups = calls_and_time(_with_inputs(context.trace, kernels), *KEYS)
    shapes = context.texts(groups["input_shape_code"])
    types = context.texts(groups["input_type_code"])
    unknown = null_reasons.missing_reason(context.trace, "input_shapes", UNKNOWN.text)
    allows_tf32 = context.trace.meta.info.settings.tf32_matmul
    reasons = [
        why_unused(shape, type_, context.architecture, unknown, allows_tf32)
        for shape, type_ in zip(shapes, types, strict=True)
    ]
    groups = groups.with_columns(
        operator=context.texts(groups["operator_code"]),
        kernel=context.texts(groups["name_code"]),
        input_shape=shapes,
        reason=pl.Series([why.text for why in reasons], dtype=pl.String),
    )
    causes = groups.with_columns(cause=pl.Series([why.cause for why in reasons], dtype=pl.String))
    main = causes.group_by("cause", maintain_order=True).agg(
        pl.col("dur_ns").sum().alias("of_cause_ns"), pl.col("reason").first()
    )
    why = Why(*main.sort("of_cause_ns", descending=True, maintain_order=True).row(0)[::2])
    no_shapes = null_reasons.missing_reason(context.trace, "input_shapes", NO_SHAPES)
    return OffMatrixUnits(filled(spec, groups.head(limit), {"input_shape": no_shapes}), why)


def that_compute(context: Context, kernels: pl.DataFrame, min_flop_per_byte: float) -> pl.DataFrame:
    """The matrix kernels that compute more than they wait for memory: not those of products of a
    matrix and a vector, nor of operators whose shapes give less than ``min_flop_per_byte``."""
    kernels = kernels.filter(
        context.kernels_that(
            kernels["name_code"],
            lambda kind: kind.kind in MATRIX_KINDS and kind.rule not in MEMORY_LIMITS,
        )
    )
    described = _with_inputs(context.trace, kernels)
    inputs = described.select(KEYS[:1] + KEYS[2:]).unique(maintain_order=True)
    shown = [context.texts(inputs[key]) for key in inputs.columns]
    waits = [
        (flop_per_byte(*row) or min_flop_per_byte) < min_flop_per_byte
        for row in zip(*shown, strict=True)
    ]
    waiting = inputs.filter(pl.Series(waits, dtype=pl.Boolean))
    return described.join(waiting, on=inputs.columns, how="anti", nulls_equal=True).select(
        kernels.columns
    )


def _with_inputs(trace: Trace, kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels with the name of their operator, -1 for none, and the shapes and types of its
    inputs."""
    owner = indices(kernels["owner"])
    described = trace.operators["slice"].to_numpy()  # ascending
    row = np.searchsorted(described, owner)
    is_described = pl.Series(np.append(described, -1)[row] == owner) & pl.Series(owner >= 0)
    row_or_null = pl.select(pl.when(is_described).then(pl.lit(pl.Series(row)))).to_series()
    inputs = trace.operators.select(
        pl.col("input_shape_code", "input_type_code").gather(row_or_null)
    )
    names = gather(indices(trace.slices["name_code"]), owner)
    return kernels.with_columns(*inputs.get_columns(), operator_code=pl.Series(names))


def matrix_units(context: Context) -> str:
    """What the vendor calls the matrix units of the devices in use."""
    name = context.architecture_name or ""
    return next((units for start, units in UNITS.items() if name.startswith(start)), "Tensor Cores")


def has_matrix_units(context: Context) -> bool:
    """Whether the devices in use are known to have matrix units."""
    return context.architecture is not None and bool(context.architecture.matrix_dtypes)


def used_and_unknown_ns(context: Context) -> tuple[int, int, int]:
    """Kernel time on matrix units, of unknown use, and in all."""
    dur = context.kernels["dur_ns"].to_numpy()
    verdict = context.kernels["tensor_core"].to_numpy()
    sums = [int(dur[verdict == which].sum()) for which in (codes.YES, codes.UNKNOWN)]
    return sums[0], sums[1], int(np.sum(dur))
