"""The type whose peak each call compares with, told from its operands and its kernels.

Definitions: ``docs/peaks.md#which-peak``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.efficiency.work.call_work import CallWork
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.user_rules import kernel_types
from torch_tb_profiler.knowledge import gpus
from torch_tb_profiler.knowledge.formulas import formulas
from torch_tb_profiler.knowledge.peaks import PEAK_TYPES, TF32, peak_type
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.model import Trace

NO_TYPE = -1
"""Of a call whose type is unknown, or of which no peak is printed (integers, complex numbers)."""

_ROUNDED, _AS_IS, _SILENT = 1, 0, -1
"""What the name of a kernel tells of float32 operands."""


def peak_types(trace: Trace, work: CallWork, holder: Int64, rows: Int64, is_product: Bools) -> Int8:
    """The place in ``PEAK_TYPES`` of the type of each call, or :data:`NO_TYPE`.

    Products of float32 operands are ``tf32`` where the name of a kernel says so, or where it tells
    nothing and the program allows it or the kernel runs on matrix units that take float32 no other
    way (NVIDIA's). All else is of the type of the operands.

    Args:
        trace: The trace.
        work: Of all calls.
        holder: As :func:`work_holders`.
        rows: The calls that are asked for.
        is_product: Which of them are products.
    """
    types = _of_operands(work)[rows]
    float32 = PEAK_TYPES.index("float32")
    candidates = np.flatnonzero(is_product & (types == float32))
    if len(candidates):
        rounded = _are_rounded(trace, work, holder)[rows[candidates]]
        types[candidates[rounded]] = PEAK_TYPES.index(TF32)
    return types


def _of_operands(work: CallWork) -> Int8:
    type_by_name = {None: NO_TYPE} | {name: number for number, name in enumerate(PEAK_TYPES)}
    types_of_work = [type_by_name[peak_type(name)] for name in work.dtypes]
    types: Int8 = np.array([*types_of_work, NO_TYPE], np.int8)[work.dtype_code]
    return types


def _are_rounded(trace: Trace, work: CallWork, holder: Int64) -> Bools:
    """Per call whether its float32 products are rounded to tf32."""
    kinds, names = kernel_kinds(trace), trace.device_work["name_code"].to_numpy()
    rounding = codes.map_names(
        trace, names, lambda name: _rounding(kernel_types(trace, name)), np.int8
    )
    on_matrix_units = (kinds.tensor_core == codes.YES) & _takes_only_tf32(trace)
    is_silent = kinds.is_kernel & (rounding == _SILENT)
    sure = kinds.is_kernel & ((rounding == _ROUNDED) | (is_silent & on_matrix_units))
    rounded = np.zeros(len(work.formula) + 1, np.bool_)
    rounded[holder[sure]] = True
    # A kernel that is known not to use matrix units is no tf32 kernel.
    maybe = is_silent & (kinds.tensor_core == codes.UNKNOWN)
    maybe &= np.append(_are_allowed(trace, work), False)[holder]
    rounded[holder[maybe]] = True
    return rounded[:-1]


def _rounding(types: tuple[str, ...]) -> int:
    return _ROUNDED if TF32 in types else _AS_IS if "float32" in types else _SILENT


def _takes_only_tf32(trace: Trace) -> bool:
    """Whether matrix units of all devices of the trace take float32 only when it is rounded."""
    rows = trace.devices.select("name", "compute_major", "compute_minor").rows()
    architectures = [gpus.architecture(*row) for row in rows]
    known = [one.matrix_dtypes for one in architectures if one is not None]
    return len(known) > 0 and all(TF32 in one and "float32" not in one for one in known)


def _are_allowed(trace: Trace, work: CallWork) -> Bools:
    """Per call whether the recorded settings let its products be rounded."""
    settings = trace.meta.info.settings
    of_products = bool(settings.tf32_matmul) or settings.matmul_precision in ("high", "medium")
    of_kinds = [
        bool(settings.tf32_cudnn) if one.kind == "convolution" else of_products
        for one in formulas()
    ]
    allowed: Bools = np.array([*of_kinds, False])[work.formula]
    return allowed
