"""Kernels of operators that could use matrix units (Tensor Cores), and why they did not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.recording.kernel_kinds import eligible_slices
from torch_tb_profiler.evidence.arithmetic_intensity import flop_per_byte, parse_list
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.tables import (
    CALLS,
    KERNEL,
    OPERATOR,
    TOTAL_US,
    build_table,
    sum_calls,
)
from torch_tb_profiler.knowledge import dtypes, gpus
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views import null_reasons
from torch_tb_profiler.views.schema import Column, Table, TableSpec

ALIGNMENT_BYTES = 16
"""Row sizes must be multiples of this many bytes (NVIDIA's matrix multiplication guide: 8 elements
of 16 bits, 16 of 8 bits)."""


class UnusedReason(NamedTuple):
    """Why an operator did not use matrix units.

    Attributes:
        cause: ``"tf32"`` (float32 where TF32 could be allowed), ``"float32"``, ``"type"``,
            ``"sizes"``, ``"small"``, ``"library"`` or ``"unknown"``; it decides the advice.
        text: The reason as text.
    """

    cause: str
    text: str


UNKNOWN = UnusedReason("unknown", "the recording has no types and shapes of inputs")


def classify_unused(
    shapes: str | None,
    types: str | None,
    architecture: gpus.Architecture | None,
    unknown: str = UNKNOWN.text,
    allows_tf32: bool | None = None,
) -> UnusedReason:
    """Classify why an operator did not use the matrix units of its device.

    Args:
        shapes: Shapes of the inputs as recorded.
        types: Element types of the inputs as recorded.
        architecture: The architecture of the device; None if it is unknown.
        unknown: The reason if the recording has no inputs.
        allows_tf32: Whether float32 products may run in TF32; None if it is not recorded.
    """
    names = [dtypes.canonical(name) for name in parse_list(types) if isinstance(name, str)]
    tensors = [
        (shape, name)
        for shape, name in zip(parse_list(shapes), names, strict=False)
        if name is not None and isinstance(shape, list) and len(shape) > 1
    ]
    if not tensors:
        return UNKNOWN._replace(text=unknown)
    dtype = tensors[0][1] or ""
    supported = architecture.matrix_dtypes if architecture else ()
    if dtype not in supported:
        return _type_reason(dtype, architecture, allows_tf32)
    size = dtypes.size_bytes(dtype) or 1
    multiple = max(1, ALIGNMENT_BYTES // size)
    sizes = [n for shape, _ in tensors for n in shape[-2:] if isinstance(n, int)]
    unaligned = sorted({n for n in sizes if n % multiple})
    if unaligned:
        listing = ", ".join(f"{n} → {n + -n % multiple}" for n in unaligned[:3])
        return UnusedReason("sizes", f"sizes that are not multiples of {multiple} ({listing})")
    if any(n < 2 * multiple for n in sizes):
        return UnusedReason("small", "matrices are too small")
    return UnusedReason("library", "types and shapes fit; the library chose another kernel")


def _type_reason(
    dtype: str, architecture: gpus.Architecture | None, allows_tf32: bool | None
) -> UnusedReason:
    if architecture is None:
        return UnusedReason("unknown", f"{dtype} inputs on a GPU of unknown architecture")
    if dtype == "float32" and "tf32" in architecture.matrix_dtypes:
        if allows_tf32:
            return UnusedReason(
                "library", "float32 inputs; TF32 is allowed, the library chose otherwise"
            )
        return UnusedReason("tf32", "float32 inputs and TF32 not allowed")
    units = _unit_name(architecture.name)
    text = f"{dtype} inputs, which {units} of {architecture.name} do not support"
    return UnusedReason("float32" if dtype == "float32" else "type", text)


MATRIX_KINDS = frozenset({"gemm", "convolution", "attention", "rnn"})
"""Kinds of kernels that matrix units can run; eligible operators also launch copies, sums and
memory-bound products with a vector."""

MEMORY_LIMITS = frozenset({"flashinfer-decode", "attention-helpers"})
"""Rules of ``kernels.toml`` for memory-bound attention: decoding one token, and helper kernels."""

UNITS = {"CDNA": "Matrix Cores", "Xe": "XMX engines"}
"""Prefix of the name of an architecture → the vendor's name of its matrix units."""

KEYS = ("operator_code", "name_code", "input_shape_code", "input_type_code")
NO_SHAPES = "The recording has no input shapes."


def operator_kernel_ns(context: Context) -> int:
    """Time of the kernels that operators launched directly, in ns."""
    return int(context.operator_kernels["dur_ns"].sum())


def eligible_kernels(context: Context) -> pl.DataFrame:
    """The kernels (columns of ``context.kernels``) launched by the lowest eligible operators, those
    without an eligible child."""
    kernels = context.operator_kernels
    lowest = _lowest_eligible(context.trace)
    return kernels.filter(pl.Series(lowest[indices(kernels["owner"])]))


@per_trace
def _lowest_eligible(trace: Trace) -> Bools:
    """Mask of the slices that are eligible and have no eligible child."""
    lowest: Bools = eligible_slices(trace) == codes.YES
    parent = indices(trace.slices["parent"])
    lowest[parent[lowest & (parent >= 0)]] = False
    return lowest


def matrix_kernel_table(code: str) -> TableSpec:
    """The evidence table of a finding about kernels without matrix units."""
    return TableSpec(
        code,
        "Kernels without Tensor Cores",
        "One row per operator, kernel and input shapes, longest total time first.",
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
    """Kernels without matrix units, by operator and its inputs.

    Attributes:
        evidence: The rows, longest total time first.
        reason: The reason of most of the time.
        largest: Operator and input shapes with the most time, as the end of a sentence; empty where
            the shapes are unknown.
    """

    evidence: Table
    reason: UnusedReason
    largest: str


def summarize_off_matrix_units(
    context: Context, kernels: pl.DataFrame, spec: TableSpec, limit: int
) -> OffMatrixUnits:
    """The evidence of kernels without matrix units, and the main reason."""
    groups = sum_calls(_with_inputs(context.trace, kernels), *KEYS)
    shapes = context.texts(groups["input_shape_code"])
    types = context.texts(groups["input_type_code"])
    unknown = null_reasons.missing_reason(context.trace, "input_shapes", UNKNOWN.text)
    allows_tf32 = context.trace.meta.info.settings.tf32_matmul
    reasons = [
        classify_unused(shape, type_, context.architecture, unknown, allows_tf32)
        for shape, type_ in zip(shapes, types, strict=True)
    ]
    groups = groups.with_columns(
        operator=context.texts(groups["operator_code"]),
        kernel=context.texts(groups["name_code"]),
        input_shape=shapes,
        reason=pl.Series([reason.text for reason in reasons], dtype=pl.String),
    )
    causes = groups.with_columns(
        cause=pl.Series([reason.cause for reason in reasons], dtype=pl.String)
    )
    main = causes.group_by("cause", maintain_order=True).agg(
        pl.col("dur_ns").sum().alias("of_cause_ns"), pl.col("reason").first()
    )
    reason = UnusedReason(
        *main.sort("of_cause_ns", descending=True, maintain_order=True).row(0)[::2]
    )
    no_shapes = null_reasons.missing_reason(context.trace, "input_shapes", NO_SHAPES)
    table = build_table(spec, groups.head(limit), {"input_shape": no_shapes})
    return OffMatrixUnits(table, reason, _largest(groups))


def _largest(groups: pl.DataFrame) -> str:
    operator, shape = groups.row(0, named=True)["operator"], groups["input_shape"][0]
    return "" if shape is None else f", most of it in {operator} of {shape}"


def compute_bound_kernels(
    context: Context, kernels: pl.DataFrame, min_flop_per_byte: float
) -> pl.DataFrame:
    """The compute-bound matrix kernels: without products of a matrix and a vector, and without
    operators whose shapes have an arithmetic intensity below ``min_flop_per_byte``."""
    kernels = kernels.filter(
        context.match_kernel_kinds(
            kernels["name_code"],
            lambda kind: kind.kind in MATRIX_KINDS and kind.rule not in MEMORY_LIMITS,
        )
    )
    described = _with_inputs(context.trace, kernels)
    inputs = described.select(KEYS[:1] + KEYS[2:]).unique(maintain_order=True)
    texts = [context.texts(inputs[key]) for key in inputs.columns]
    is_memory_bound = [
        (flop_per_byte(*row) or min_flop_per_byte) < min_flop_per_byte
        for row in zip(*texts, strict=True)
    ]
    memory_bound = inputs.filter(pl.Series(is_memory_bound, dtype=pl.Boolean))
    return described.join(memory_bound, on=inputs.columns, how="anti", nulls_equal=True).select(
        kernels.columns
    )


def _with_inputs(trace: Trace, kernels: pl.DataFrame) -> pl.DataFrame:
    """Kernels with the name code of their operator, -1 for none, and the codes of the shapes and
    types of its inputs."""
    return kernels.hstack(_inputs_of_work(trace)[kernels["row"]])


@per_trace
def _inputs_of_work(trace: Trace) -> pl.DataFrame:
    """The columns of :func:`_with_inputs` per row of ``trace.device_work``."""
    owner = indices(trace.device_work["owner"])
    described = trace.operators["slice"].to_numpy()  # ascending
    row = np.searchsorted(described, owner)
    is_described = pl.Series(np.append(described, -1)[row] == owner) & pl.Series(owner >= 0)
    row_or_null = pl.select(pl.when(is_described).then(pl.lit(pl.Series(row)))).to_series()
    inputs = trace.operators.select(
        pl.col("input_shape_code", "input_type_code").gather(row_or_null)
    )
    names = gather(indices(trace.slices["name_code"]), owner)
    return inputs.with_columns(operator_code=pl.Series(names))


def matrix_unit_name(context: Context) -> str:
    """The vendor's name of the matrix units of the devices in use."""
    return _unit_name(context.architecture_name or "")


def _unit_name(architecture_name: str) -> str:
    own = (units for start, units in UNITS.items() if architecture_name.startswith(start))
    return next(own, "Tensor Cores")


def has_matrix_units(context: Context) -> bool:
    """Whether the devices in use are known to have matrix units."""
    return context.architecture is not None and bool(context.architecture.matrix_dtypes)


def matrix_unit_ns(context: Context) -> tuple[int, int, int]:
    """Kernel time on matrix units, of unknown use, and in total, in ns."""
    dur = context.kernels["dur_ns"].to_numpy()
    verdict = context.kernels["tensor_core"].to_numpy()
    sums = [int(dur[verdict == which].sum()) for which in (codes.YES, codes.UNKNOWN)]
    return sums[0], sums[1], int(np.sum(dur))
