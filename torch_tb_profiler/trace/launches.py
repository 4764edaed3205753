"""Match each piece of device work to the host call that launched it."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, Bools, Int64
from torch_tb_profiler.trace.constant_columns import constant, is_constant, neighbours
from torch_tb_profiler.trace.launch_candidates import Launchable, Launchers, infer_launches
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.quality import QualityReport

_LAUNCHING = re.compile(r"launch|memcpy|memset|memcopy|copy|fill|enqueue|submit", re.IGNORECASE)
"""Names of host calls that put work on a device, of every vendor."""

_STATED = (Category.OPERATOR, Category.ANNOTATION)
_GRAPH = re.compile(r"graph|command_?buffer", re.IGNORECASE)
"""Names of host calls that launch many kernels at once."""


def launching_mask(slices: OrderedSlices, calls: Int64, strings: list[str]) -> Bools:
    """Mask of the calls that put work on a device, by their names."""
    return _name_mask(slices, calls, strings, _LAUNCHING)


def _name_mask(
    slices: OrderedSlices, calls: Int64, strings: list[str], pattern: re.Pattern[str]
) -> Bools:
    names = slices.name_code[calls]
    matches = np.zeros(len(strings), np.bool_)
    for code in np.flatnonzero(np.bincount(names, minlength=1)):
        matches[code] = pattern.search(strings[code]) is not None
    mask: Bools = matches[names]
    return mask


def match_launches(
    slices: OrderedSlices,
    calls: Int64,
    launching: Bools,
    work: Int64,
    device_index: Int64,
    *,
    strings: list[str],
    tolerance_ns: int,
    quality: QualityReport,
) -> tuple[Int64, Bools]:
    """Per piece of device work its launch (slice id, -1 for none), and whether it has none because
    calls of several processes could be it.

    The launch is the call that the format states, else the one with the same correlation id in the
    same process. Ids 0 and below mean none. Of several calls with one id in one process the first
    launching one counts: a runtime call and the driver call inside it share an id, and
    synchronizations repeat the id of what they wait for.

    Args:
        slices: All slices.
        calls: Ids of the host calls.
        launching: Which of them put work on a device.
        work: Ids of the device work.
        device_index: Index of its device, 0 …, if there are several processes.
        strings: The dictionary of names.
        tolerance_ns: Resolution of the file's clock.
        quality: Receives shared ids, work without a launch and launches without work.
    """
    first, is_launch = _first_calls(slices, calls, launching, quality)
    explicit = (
        np.full(len(work), -1) if slices.launch is None else slices.launch[work].astype(np.int64)
    )
    correlation_id = np.where(explicit < 0, slices.correlation[neighbours(work)], 0)
    known, process = slices.correlation[first], slices.process_of(first)
    row, is_ambiguous = constant(-1, len(work), np.int64), np.zeros(len(work), np.bool_)
    if correlation_id.any():
        row = positions_in(known, correlation_id)
    if len(first) and process.min() < process.max() and correlation_id.any():
        rows = slices.rows_in_file
        launchers = _launchers(slices, first, rows, strings)
        launchable = _launchable(slices, work, rows, correlation_id, device_index)
        row, is_ambiguous = infer_launches(launchers, launchable, tolerance_ns)
    launch = explicit
    if not is_constant(row):
        launch = np.where(row >= 0, np.append(first, -1)[row], explicit)
    without_work = is_launch.copy()
    if is_ambiguous.any():
        without_work &= ~np.isin(known, correlation_id[is_ambiguous])
    without_work[row[row >= 0]] = False
    if slices.launch is not None:
        without_work &= ~_membership_mask(slices, explicit)[first]
    quality.add("launch_without_kernel", int(without_work.sum()))
    without_launch = (launch < 0) & ~is_ambiguous & ~_names_its_operator(slices, work)
    quality.add("kernel_without_launch", int(without_launch.sum()))
    quality.add("launch_ambiguous", int(is_ambiguous.sum()))
    return launch, is_ambiguous


def _membership_mask(slices: OrderedSlices, explicit: Int64) -> Bools:
    """Per slice whether it is one of ``explicit``."""
    is_member = np.zeros(len(slices.start_ns), np.bool_)
    is_member[explicit[explicit >= 0]] = True
    return is_member


def _names_its_operator(slices: OrderedSlices, work: Int64) -> Bools:
    """Work whose operator or range the format states and that has no correlation id: such formats
    have no launches, so that none is missing."""
    if slices.owner is None:
        return np.zeros(len(work), np.bool_)
    owner = slices.owner[work]
    is_stated = (owner >= 0) & np.isin(slices.category[owner], _STATED)
    names_it: Bools = is_stated & (slices.correlation[work] == ABSENT)
    return names_it


def _launchers(slices: OrderedSlices, calls: Int64, rows: Int64, strings: list[str]) -> Launchers:
    return Launchers(
        correlation=slices.correlation[calls],
        process=slices.process_of(calls),
        start_ns=slices.start_ns[calls],
        row=rows[calls],
        is_graph=_name_mask(slices, calls, strings, _GRAPH),
    )


def _launchable(
    slices: OrderedSlices, work: Int64, rows: Int64, correlation_id: Int64, device_index: Int64
) -> Launchable:
    return Launchable(
        correlation=correlation_id,
        start_ns=slices.start_ns[work],
        row=rows[work],
        device_index=device_index,
        track=slices.track[work].astype(np.int64),
    )


def _first_calls(
    slices: OrderedSlices, calls: Int64, launching: Bools, quality: QualityReport
) -> tuple[Int64, Bools]:
    """The call to use for each (correlation id, process), in that order, and whether it puts work
    on a device."""
    valid = slices.correlation[calls] > 0
    if not valid.all():
        calls, launching = calls[valid], launching[valid]
    correlation, process = slices.correlation[calls], slices.process_of(calls)
    keys = [slices.start_ns[calls], ~launching, process, correlation]
    if len(calls) and process.min() == process.max():
        del keys[2]  # one sort key less in the usual file, of one process
    order = np.lexsort(keys)
    del keys
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = False
    for column in (correlation[order], process[order]):
        is_first[1:] |= column[1:] != column[:-1]
    first = order[is_first]
    quality.add("duplicate_correlation", len(order) - len(first))
    return calls[first], launching[first]
