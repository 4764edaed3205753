"""Details of each kernel: idle time before it, input types, what limits its occupancy.

Definitions: ``docs/metrics.md#kernels``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.codes import names_match
from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.idle.gaps import gaps_before
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.launch_measures import (
    LAUNCH_KEYS,
    multiprocessor,
    size_product,
)
from torch_tb_profiler.analysis.recording.user_rules import kernel_types
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.knowledge import dtypes, occupancy
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

GRID = "grid"
NOTHING = "nothing"
"""The limit of a launch that fills the multiprocessors."""

_QUOTED = re.compile(r"[\"']([^\"']*)[\"']")
_SHAPE = ("device", *LAUNCH_KEYS, "occupancy_limit_code")


class LaunchVariant(NamedTuple):
    """Limit and input types of a launch.

    Attributes:
        limit: What limits its occupancy: :data:`GRID`, ``occupancy.REGISTERS`` and so on joined by
            ``", "``, or :data:`NOTHING`; None where unknown.
        input_type_code: Input types of the operator that launched it; None where the name of the
            kernel has its types, where it has no operator, and where none are recorded.
    """

    limit: str | None
    input_type_code: int | None


class KernelDetails(msgspec.Struct, frozen=True, eq=False):
    """Details of all kernels.

    Attributes:
        calls: One row per kernel, in the order of :func:`kernel_calls`: gap_before_ns, and the
            index of its variant.
        variants: The distinct variants.
    """

    calls: pl.DataFrame
    variants: list[LaunchVariant]


@per_trace
def kernel_details(trace: Trace) -> KernelDetails:
    """The details of the kernels of a trace."""
    is_kernel = kernel_kinds(trace).is_kernel
    work = trace.device_work.select("name_code", "owner", *_SHAPE).filter(pl.Series(is_kernel))
    limits, limit = _limits(trace, work)
    inputs, types = factorize(_input_types(trace, work) + 1)
    pairs, variant = factorize(limit * len(inputs) + types)
    parts = (divmod(pair, len(inputs)) for pair in pairs.tolist())
    calls = pl.DataFrame(
        {"gap_before_ns": gaps_before(trace)[is_kernel], "variant": variant.astype(np.int32)}
    )
    codes = [code - 1 if code else None for code in inputs.tolist()]
    return KernelDetails(calls, [LaunchVariant(limits[row], codes[types]) for row, types in parts])


def selected_kernel_details(trace: Trace, selection: Selection) -> pl.DataFrame:
    """The rows of :func:`kernel_details` in a selection.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    calls = kernel_details(trace).calls
    if selection.is_everything:
        return calls
    is_kernel = kernel_kinds(trace).is_kernel
    return calls.filter(pl.Series(device_work_mask(trace, selection)[is_kernel]))


def _input_types(trace: Trace, work: pl.DataFrame) -> Int64:
    """Per kernel the code of the input types of its operator, -1 where its name has its types and
    where there are none."""
    names = work["name_code"].to_numpy()
    has_types = names_match(trace, names, lambda name: bool(kernel_types(trace, name)))
    types = np.append(slice_input_types(trace), np.int32(-1))
    codes: Int64 = np.where(has_types, -1, types[indices(work["owner"])]).astype(np.int64)
    return codes


@per_trace
def slice_input_types(trace: Trace) -> Int32:
    """Per slice the code of its recorded input types, -1 for none."""
    types = np.full(trace.slices.height, -1, np.int32)
    operators = trace.operators
    types[operators["slice"].to_numpy()] = operators["input_type_code"].fill_null(-1).to_numpy()
    return types


def parse_input_types(text: str) -> tuple[str, ...]:
    """The element types in ``"['float', 'Scalar']"``, each once, in order: ``("float32",)``."""
    names = (dtypes.canonical(name) for name in _QUOTED.findall(text))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _limits(trace: Trace, work: pl.DataFrame) -> tuple[list[str | None], Int64]:
    """The distinct limits of kernels, determined once per launch configuration and device, and per
    kernel the index of its limit."""
    shapes = (
        work.select(_SHAPE).with_row_index("row").group_by(_SHAPE, maintain_order=True).agg("row")
    )
    devices = {row["device"]: row for row in trace.devices.iter_rows(named=True)}
    index: dict[str | None, int] = {}
    limits = [
        index.setdefault(_limit(trace, shape, devices.get(shape["device"], {})), len(index))
        for shape in shapes.select(_SHAPE).iter_rows(named=True)
    ]
    limit = np.zeros(work.height, np.int64)
    if limits:
        rows = shapes["row"].explode().to_numpy()
        limit[rows] = np.repeat(limits, shapes["row"].list.len().to_numpy())
    return list(index), limit


def _limit(trace: Trace, shape: Mapping[str, Any], device: Mapping[str, Any]) -> str | None:
    """What limits one launch configuration: as recorded, else by NVIDIA's rules."""
    threads = size_product(trace.text(shape["block_code"]))
    blocks = size_product(trace.text(shape["grid_code"]))
    sm = multiprocessor(device)
    registers, shared = shape["registers_per_thread"], shape["shared_memory_bytes"]
    resident = None
    if sm is not None and threads is not None and None not in (registers, shared):
        resident = occupancy.block_residency(sm, threads, int(registers), int(shared))
    sms = device.get("sm_count")
    if resident is not None and blocks is not None and sms and blocks < resident.blocks * sms:
        return GRID
    recorded = trace.text(shape["occupancy_limit_code"])
    if recorded:
        return ", ".join(occupancy.recorded_limits(recorded))
    if resident is None or not resident.blocks:
        return None
    return NOTHING if resident.warps == resident.most_warps else ", ".join(resident.limits)
