"""Where the calls of operators, kernels and the device runtime stand in a step, comparable between
two recordings.

What is text (names, paths of operators, modules, shapes) is hashed, so that both sides share the
numbers. Definitions: ``docs/views-compare.md#renamed-operators-and-kernels``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.forests import gather, indices, levels
from torch_tb_profiler.analysis.operators.call_tree import call_tree
from torch_tb_profiler.analysis.operators.calls import operator_calls
from torch_tb_profiler.analysis.recording.kernel_kinds import kernel_kinds
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.steps.masks import (
    device_work_mask,
    device_work_steps,
    slice_mask,
    slice_steps,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.locations import slice_locations
from torch_tb_profiler.views.compare.steps import StepBasis

Hashes = npt.NDArray[np.uint64]
Names = Mapping[str, str]
Modules = list[str] | None
"""Name of each module by node, the same on both sides where they meet; None: none recorded."""

CallsOf = Callable[[StepBasis, Modules, Names], pl.DataFrame]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.uint64(0)
_ORDERS = ("position", "lone_position")
_DIGITS = re.compile(r"[0-9]+")


def text_hash(text: str) -> int:
    """64 bits that stand for a text; 0 for none."""
    if not text:
        return 0
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def stem(name: str) -> str:
    """A name without its numbers."""
    return _DIGITS.sub("", name)


def operator_positions(basis: StepBasis, modules: Modules, renames: Names) -> pl.DataFrame:
    """Selected calls of operators: one row each, in order of time.

    Args:
        basis: One side.
        modules: Name of each module by node.
        renames: Name on this side → name of its partner.

    Returns:
        ``name`` and ``stem``; ``module``, ``path`` and ``operator`` (whole path and innermost) and
        ``shapes`` around it; ``launched`` (kernel of a runtime call, else null); ``step`` (-1:
        none that is averaged), ``container`` (the call of an operator or module that it stands in,
        -1 for none).
    """
    trace = basis.trace
    tree = call_tree(trace)
    chosen = np.flatnonzero(slice_mask(trace, basis.selection)[tree.slice])
    own = tree.slice[chosen]
    return _calls(
        basis,
        modules,
        renames,
        codes=indices(trace.slices["name_code"])[own],
        at=own,
        call=tree.parent[chosen],
        shapes=_shapes(trace)[chosen],
        step=slice_steps(trace)[own],
        order=(trace.slices["start_ns"].to_numpy()[own],),
    )


def kernel_positions(basis: StepBasis, modules: Modules, renames: Names) -> pl.DataFrame:
    """The same for selected kernels, in order of their launches."""
    trace = basis.trace
    shown = kernel_kinds(trace).is_kernel & device_work_mask(trace, basis.selection)
    work = trace.device_work.filter(pl.Series(shown))
    call = call_tree(trace).owner[shown]
    launch = indices(work["launch"])
    at = np.where(launch >= 0, launch, indices(work["owner"]))
    starts = work["start_ns"].to_numpy()
    launched = np.where(at >= 0, gather(trace.slices["start_ns"].to_numpy(), at), starts)
    return _calls(
        basis,
        modules,
        renames,
        codes=indices(work["name_code"]),
        at=at,
        call=call,
        shapes=_taken(_shapes(trace), call),
        step=device_work_steps(trace)[shown],
        order=(launched, starts),
    )


def runtime_call_positions(basis: StepBasis, modules: Modules, renames: Names) -> pl.DataFrame:
    """The same for selected calls of the device runtime."""
    trace = basis.trace
    is_call = trace.slices["category"].to_numpy() == Category.RUNTIME
    own = np.flatnonzero(is_call & slice_mask(trace, basis.selection))
    call = gather(slice_locations(trace).call, own)
    work = trace.device_work
    launched = np.zeros(trace.slices.height + 1, np.uint64)
    launched[indices(work["launch"])] = _hashed(
        trace, indices(work["name_code"]), lambda text: renames.get(text, text)
    )
    launched[-1] = _NONE
    return _calls(
        basis,
        modules,
        renames,
        codes=indices(trace.slices["name_code"])[own],
        at=own,
        call=call,
        shapes=_taken(_shapes(trace), call),
        step=slice_steps(trace)[own],
        order=(trace.slices["start_ns"].to_numpy()[own],),
        launched=launched[own],
    )


def _calls(
    basis: StepBasis,
    modules: Modules,
    renames: Names,
    *,
    codes: Int64,
    at: Int64,
    call: Int64,
    shapes: Hashes,
    step: npt.NDArray[np.int32],
    order: tuple[Int64, ...],
    launched: Hashes | None = None,
) -> pl.DataFrame:
    trace = basis.trace
    tree = call_tree(trace)
    operators = _hashed(
        trace,
        indices(trace.slices["name_code"])[tree.slice],
        lambda text: renames.get(text, text),
    )
    module = gather(module_tree(trace).around, at)
    frame = pl.DataFrame(
        {
            "name": _hashed(trace, codes, lambda text: renames.get(text, text)),
            "stem": _hashed(trace, codes, stem),
            "module": _modules(trace, at, modules),
            "path": _taken(_paths(tree.parent, operators), call),
            "operator": _taken(operators, call),
            "shapes": shapes,
            "step": np.append(basis.window_row, -1)[step],
            "launched": np.zeros(len(at), np.uint64) if launched is None else launched,
            "container": np.where(call >= 0, call, -2 - module),
        }
    )
    # What launches nothing is equal to nothing.
    known = pl.when(pl.col("launched") > 0).then("launched").alias("launched")
    return frame.with_columns(known)[np.lexsort(order[::-1])]


def _hashed(trace: Trace, codes: Int64, text_of: Callable[[str], str]) -> Hashes:
    """The hash of what ``text_of`` makes of each code's text."""
    table = np.zeros(len(trace.strings), np.uint64)
    for code in np.flatnonzero(np.bincount(codes, minlength=len(table))).tolist():
        table[code] = text_hash(text_of(str(trace.strings[code])))
    hashes: Hashes = table[codes]
    return hashes


def _taken(values: Hashes, at: Int64) -> Hashes:
    """``values[at]``, 0 where ``at`` is -1."""
    taken: Hashes = np.append(values, _NONE)[at]
    return taken


def _paths(parent: Int64, names: Hashes) -> Hashes:
    """Per call a hash of the names from the outermost call to itself."""
    paths = np.zeros(len(parent) + 1, np.uint64)
    for level in levels(parent):
        paths[level] = mixed(paths[parent[level]], names[level])
    return paths[:-1]


def mixed(above: Hashes, own: Hashes) -> Hashes:
    """One hash of two, in order."""
    both: Hashes = ((above << np.uint64(7)) ^ (above >> np.uint64(3)) ^ own) * _MIX
    return both


def _shapes(trace: Trace) -> Hashes:
    """Per call of an operator a hash of its input shapes; 0 where they are not recorded."""
    codes = operator_calls(trace)["input_shape_code"].to_numpy()
    hashes = np.zeros(len(codes), np.uint64)
    known = codes >= 0
    hashes[known] = _hashed(trace, codes[known].astype(np.int64), str)
    return hashes


def _modules(trace: Trace, at: Int64, modules: Modules) -> Hashes:
    """The module of each slice, forward and backward."""
    if modules is None:
        return np.zeros(len(at), np.uint64)
    table = np.array([*(text_hash(name) for name in modules), 0], np.uint64)
    hashes: Hashes = table[gather(slice_locations(trace).node, at)]
    return hashes


def lone_positions(calls: pl.DataFrame, others: pl.Series, steps: int) -> pl.DataFrame:
    """The calls of names that the other side lacks, with the columns that levels of
    ``renames.toml`` name.

    Args:
        calls: Calls of one side.
        others: Names of the other.
        steps: Steps of this side: ``weight`` is the part of a step's calls that each is.
    """
    of_container = ["step", "container"]
    of_path = ["step", "module", "path"]
    rows = (
        calls.with_columns(is_lone=~pl.col("name").is_in(others.implode()))
        .with_columns(
            position=pl.int_range(pl.len()).over(of_container),
            siblings=pl.len().over(of_container),
            lone_position=pl.col("is_lone").cum_sum().over(of_container),
            lone_siblings=pl.col("is_lone").sum().over(of_container),
            gap=(~pl.col("is_lone")).cum_sum().over("step"),
            common=pl.when(~pl.col("is_lone")).then("name"),
        )
        .with_columns(
            occurrence=(pl.col("position") == 0).cum_sum().over(of_path),
            before=pl.col("common").forward_fill().over("step"),
            after=pl.col("common").backward_fill().over("step"),
        )
        .with_columns(
            pl.col("occurrence").first().over([*of_container, *of_path[1:]]),
            # In nothing but the step, order alone is no evidence.
            *(pl.when(pl.col("container") != -1).then(key).alias(key) for key in _ORDERS),
        )
        .filter("is_lone")
        .with_columns(
            gap_position=pl.int_range(pl.len()).over("step", "gap"),
            gap_size=pl.len().over("step", "gap"),
            weight=pl.lit(1.0 / max(steps, 1)),
        )
        .with_columns(gap_back=pl.col("gap_size") - pl.col("gap_position"))
    )
    return rows.drop("common", "gap", "is_lone", "container", "step")
