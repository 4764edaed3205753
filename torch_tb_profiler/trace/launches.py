"""The host call that launched each piece of device work."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.trace.candidates import Launchable, Launchers, infer_launches
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.lookup import positions_in
from torch_tb_profiler.trace.ordering import OrderedSlices
from torch_tb_profiler.trace.quality import QualityReport

_LAUNCHING = re.compile(r"launch|memcpy|memset|memcopy|copy|fill|enqueue|submit", re.IGNORECASE)
"""Host calls that put work on a device, by a part of their name, for every vendor."""

_GRAPH = re.compile(r"graph|command_?buffer", re.IGNORECASE)
"""Host calls that launch many kernels at once, by a part of their name."""


def are_launching(slices: OrderedSlices, calls: Int64, strings: list[str]) -> Bools:
    """Mask of the calls that put work on a device, by their names."""
    return _are_called(slices, calls, strings, _LAUNCHING)


def _are_called(
    slices: OrderedSlices, calls: Int64, strings: list[str], pattern: re.Pattern[str]
) -> Bools:
    names = slices.name_code[calls]
    matches = np.zeros(len(strings), np.bool_)
    for code in np.flatnonzero(np.bincount(names, minlength=1)):
        matches[code] = pattern.search(strings[code]) is not None
    mask: Bools = matches[names]
    return mask


def find_launches(
    slices: OrderedSlices,
    calls: Int64,
    launching: Bools,
    work: Int64,
    place: Int64,
    *,
    strings: list[str],
    tolerance_ns: int,
    quality: QualityReport,
) -> tuple[Int64, Bools]:
    """Per piece of device work its launch (slice id, -1 for none), and whether it has none because
    calls of several processes could be it.

    That is the call the format names, else the one of the same correlation id in the same process.
    Ids 0 and below mean none. Of several calls with one id in one process the first that can
    launch counts: a runtime call and the driver call inside it share an id, and synchronisations
    repeat the id of what they wait for.

    Args:
        slices: All slices.
        calls: Ids of the host calls.
        launching: Which of them put work on a device.
        work: Ids of the device work.
        place: Number of the device of each piece of it, 0 …, where there are several processes.
        strings: The dictionary of names.
        tolerance_ns: Resolution of the file's clock.
        quality: Is told of shared ids, of work without a launch and of launches without work.
    """
    first, is_launch = _first_calls(slices, calls, launching, quality)
    given = (
        np.full(len(work), -1) if slices.launch is None else slices.launch[work].astype(np.int64)
    )
    wanted = np.where(given < 0, slices.correlation[work], 0)
    known, process = slices.correlation[first], slices.process_of(first)
    row, is_ambiguous = positions_in(known, wanted), np.zeros(len(work), np.bool_)
    if len(first) and process.min() < process.max() and wanted.any():
        rows = slices.rows_in_file
        launchers = _launchers(slices, first, rows, strings)
        launchable = _launchable(slices, work, rows, wanted, place)
        row, is_ambiguous = infer_launches(launchers, launchable, tolerance_ns)
    launch = np.where(row >= 0, np.append(first, -1)[row], given)
    unanswered = is_launch & ~np.isin(known, wanted[is_ambiguous])
    unanswered[row[row >= 0]] = False
    if slices.launch is not None:
        unanswered &= ~_are_given(slices, given)[first]
    quality.add("launch_without_kernel", int(unanswered.sum()))
    quality.add("kernel_without_launch", int(((launch < 0) & ~is_ambiguous).sum()))
    quality.add("launch_ambiguous", int(is_ambiguous.sum()))
    return launch, is_ambiguous


def _are_given(slices: OrderedSlices, given: Int64) -> Bools:
    """Per slice whether it is one of these."""
    is_given = np.zeros(len(slices.start_ns), np.bool_)
    is_given[given[given >= 0]] = True
    return is_given


def _launchers(slices: OrderedSlices, calls: Int64, rows: Int64, strings: list[str]) -> Launchers:
    return Launchers(
        correlation=slices.correlation[calls],
        process=slices.process_of(calls),
        start_ns=slices.start_ns[calls],
        row=rows[calls],
        is_graph=_are_called(slices, calls, strings, _GRAPH),
    )


def _launchable(
    slices: OrderedSlices, work: Int64, rows: Int64, wanted: Int64, place: Int64
) -> Launchable:
    return Launchable(
        correlation=wanted,
        start_ns=slices.start_ns[work],
        row=rows[work],
        place=place,
        track=slices.track[work].astype(np.int64),
    )


def _first_calls(
    slices: OrderedSlices, calls: Int64, launching: Bools, quality: QualityReport
) -> tuple[Int64, Bools]:
    """The call that counts of each (correlation id, process), in that order, and whether it puts
    work on a device."""
    valid = slices.correlation[calls] > 0
    calls, launching = calls[valid], launching[valid]
    correlation, process = slices.correlation[calls], slices.process_of(calls)
    keys = [slices.start_ns[calls], ~launching, process, correlation]
    if len(calls) and process.min() == process.max():
        del keys[2]  # a key less to sort by in the usual file, of one process
    order = np.lexsort(keys)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(correlation[order]) != 0) | (np.diff(process[order]) != 0)
    first = order[is_first]
    quality.add("duplicate_correlation", len(order) - len(first))
    return calls[first], launching[first]
