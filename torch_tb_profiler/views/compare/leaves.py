"""The smallest parts of a step's time, by phase, module, operator and kernel: sums of all are the
time that a comparison explains.

Definitions: ``docs/views-compare.md#what-explains-the-difference``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.unattributed_work import UNKNOWN_LAUNCH
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.steps.masks import device_work_mask, slice_mask
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.locations import slice_locations
from torch_tb_profiler.views.compare.renames import Renames, baseline_names
from torch_tb_profiler.views.compare.steps import StepBasis

KEYS = ("phase", "module", "operator", "kernel")
"""From the whole to its parts; empty where something is of none."""

_RANGES = (Category.DATALOADER, Category.OPTIMIZER)


class Leaves(Struct, frozen=True, eq=False):
    """One side.

    Attributes:
        times: :data:`KEYS`, ``calls`` and ``ns`` of each leaf; their ``ns`` add up to everything.
        operator_calls: ``phase``, ``module``, ``operator``, ``is_launch``, ``calls``.
        module_calls: ``module``, ``calls``.
        divisor: Steps that all of these are sums over.
    """

    times: pl.DataFrame
    operator_calls: pl.DataFrame
    module_calls: pl.DataFrame
    divisor: float


def device_leaves(basis: StepBasis, modules: list[str] | None) -> Leaves:
    """Device work: kernels, copies and memsets, by what launched them.

    Args:
        basis: One side, of whole steps.
        modules: Name of each module by node; None to leave modules out.
    """
    trace = basis.trace
    chosen = device_work_mask(trace, basis.selection)
    work = trace.device_work.filter(pl.Series(chosen))
    launch, owner = indices(work["launch"]), indices(work["owner"])
    at = np.where(launch >= 0, launch, owner)
    where = _located(trace, at, modules)
    operator = gather(indices(trace.slices["name_code"]), at)
    is_launch = where["call"].to_numpy() < 0
    operator[~is_launch] = _call_names(trace)[where["call"].to_numpy()[~is_launch]]
    frame = where.with_columns(
        operator_code=pl.Series(operator),
        is_launch=pl.Series(is_launch),
        kernel_code=work["name_code"].cast(pl.Int64),
        at=pl.Series(at),
        ns=work["dur_ns"],
    )
    return _leaves(basis, frame, modules, _calls(basis, modules))


def host_leaves(basis: StepBasis, modules: list[str] | None) -> Leaves:
    """Time of the host: operators, each without what is inside, runtime calls, data loading and
    optimizers' own."""
    trace = basis.trace
    category = trace.slices["category"].to_numpy()
    is_node = np.isin(category, _RANGES)
    is_node[call_tree(trace).slice] = True
    is_runtime = category == Category.RUNTIME
    at = np.flatnonzero((is_node | is_runtime) & slice_mask(trace, basis.selection))
    where = _located(trace, at, modules)
    names = indices(trace.slices["name_code"])[at]
    call, runtime = where["call"].to_numpy(), is_runtime[at]
    in_call = call >= 0
    operator = names.copy()
    operator[in_call] = _call_names(trace)[call[in_call]]
    own = trace.slices["self_ns"].fill_null(0).to_numpy()[at]
    frame = where.with_columns(
        operator_code=pl.Series(operator),
        is_launch=pl.Series(runtime & ~in_call),
        kernel_code=pl.Series(np.where(runtime & in_call, names, -1)),
        at=pl.Series(at),
        ns=pl.Series(np.where(runtime, trace.slices["dur_ns"].to_numpy()[at], own)),
    )
    return _leaves(
        basis, frame, modules, frame.filter((pl.col("kernel_code") < 0) & ~pl.col("is_launch"))
    )


def with_names_of_baseline(leaves: Leaves, renames: Renames) -> Leaves:
    """The leaves of the candidate, under the names of the baseline where they are only renamed."""
    calls = baseline_names(renames.runtime_calls)
    kernels = baseline_names(renames.kernels) | calls
    operator = pl.col("operator").replace(baseline_names(renames.operators) | calls)
    times = leaves.times.with_columns(operator)
    names = []
    for module, owner, name in times.select("module", "operator", "kernel").rows():
        known = kernels.get(name, name)
        pair = renames.local_pair(module, owner, known)
        names.append(known if pair is None else pair.baseline)
    return replace(
        leaves,
        times=times.with_columns(kernel=pl.Series(names, dtype=pl.String)),
        operator_calls=leaves.operator_calls.with_columns(operator),
    )


def _call_names(trace: Trace) -> Int64:
    return indices(trace.slices["name_code"])[call_tree(trace).slice]


def _located(trace: Trace, at: Int64, modules: list[str] | None) -> pl.DataFrame:
    """``phase``, ``node`` and ``call`` of slices; -1 is none of the file."""
    where = slice_locations(trace)
    node = gather(where.node, at) if modules is not None else np.full(len(at), -1, np.int64)
    phase = np.where(at >= 0, gather(where.phase, at), 0)
    return pl.DataFrame({"phase_code": phase, "node": node, "call": gather(where.call, at)})


def _calls(basis: StepBasis, modules: list[str] | None) -> pl.DataFrame:
    """Every selected call of an operator, whether it launched anything or not."""
    trace = basis.trace
    slices = call_tree(trace).slice
    at = slices[slice_mask(trace, basis.selection)[slices]]
    return _located(trace, at, modules).with_columns(
        operator_code=pl.Series(indices(trace.slices["name_code"])[at]),
        is_launch=pl.lit(False),
        at=pl.Series(at),
    )


def _leaves(
    basis: StepBasis, frame: pl.DataFrame, modules: list[str] | None, calls: pl.DataFrame
) -> Leaves:
    trace = basis.trace
    keys = ["phase_code", "node", "operator_code", "is_launch"]
    times = frame.group_by(*keys, "kernel_code", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls"), pl.col("ns").sum()
    )
    # A call that launched several kernels is one; what has no call in the file counts by itself.
    alone = pl.when(pl.col("at") < 0).then(-1 - pl.int_range(pl.len())).otherwise(pl.col("at"))
    launches = frame.with_columns(at=alone).filter("is_launch").select(*keys, "at")
    counted = pl.concat([calls.select(keys), launches.unique(maintain_order=True).select(keys)])
    operators = counted.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("calls")
    )
    return Leaves(
        _texts(trace, times, modules),
        _texts(trace, operators, modules),
        _module_calls(basis, modules),
        basis.divisor,
    )


def _texts(trace: Trace, frame: pl.DataFrame, modules: list[str] | None) -> pl.DataFrame:
    """Codes as texts, which both sides share; rows whose texts are the same are one."""
    where = slice_locations(trace)
    names = modules or []

    def texts(key: str, labels: dict[int, str]) -> pl.Series:
        return pl.Series([labels.get(code, "") for code in frame[key].to_list()], dtype=pl.String)

    def strings(key: str, absent: str, more: Mapping[int, str] | None = None) -> pl.Series:
        labels = {c: str(trace.strings[c]) for c in frame[key].unique().to_list() if c >= 0}
        return texts(key, {-1: absent} | labels | dict(more or {}))

    columns = {
        "phase": texts("phase_code", dict(enumerate(where.phases))),
        "module": texts("node", dict(enumerate(names))),
        "operator": strings("operator_code", UNKNOWN_LAUNCH, where.ranges),
    }
    if "kernel_code" in frame.columns:
        columns["kernel"] = strings("kernel_code", "")
    sums = [key for key in ("calls", "ns") if key in frame.columns]
    named = frame.with_columns(**columns)
    return named.group_by(*columns, "is_launch", maintain_order=True).agg(pl.col(sums).sum())


def _module_calls(basis: StepBasis, modules: list[str] | None) -> pl.DataFrame:
    """Selected calls of each module, forward."""
    tree = module_tree(basis.trace)
    if modules is None:
        return pl.DataFrame(schema={"module": pl.String, "calls": pl.Int64})
    chosen = slice_mask(basis.trace, basis.selection)[tree.slice] & ~tree.is_recomputed
    calls = np.bincount(tree.node[chosen], minlength=len(modules))
    frame = pl.DataFrame({"module": modules, "calls": calls})
    return frame.group_by("module", maintain_order=True).agg(pl.col("calls").sum())
