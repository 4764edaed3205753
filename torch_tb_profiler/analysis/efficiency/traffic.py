"""Bytes that device work moved to and from the device's memory, as counters measured them.

Definitions: ``docs/views-efficiency.md#measured-bandwidth``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.efficiency.calls import holding_calls, work_holders
from torch_tb_profiler.analysis.efficiency.groups import KEYS, key_of_calls
from torch_tb_profiler.analysis.efficiency.peaks import device_peaks
from torch_tb_profiler.analysis.measured.signals import window_sums
from torch_tb_profiler.analysis.measured.slice_values import work_values
from torch_tb_profiler.analysis.measured.work import (
    bandwidth_means,
    group_means,
    signals_of_role,
)
from torch_tb_profiler.trace.columns import Bools, Float64, Int64
from torch_tb_profiler.trace.model import Trace

NS_PER_S = 1e9
SCHEMA = {
    "measured_bytes": pl.Float64,
    "measured_ns": pl.Int64,
    "own_pct": pl.Float64,
    "compared_bytes": pl.Float64,
    "computed_bytes": pl.Float64,
}


class WorkTraffic(Struct, frozen=True, eq=False):
    """Bytes per row of ``trace.device_work``.

    Attributes:
        bytes: Read and written while it ran, in the measured part of its time; of samples, those of
            the whole device.
        measured_ns: The measured part of its time.
    """

    bytes: Float64
    measured_ns: Int64


def work_traffic(trace: Trace, peak: str | None = None) -> WorkTraffic | None:
    """The bytes of all device work: counted of each kernel, else from sampled rates, else from
    sampled shares of the peak bandwidth; None where none of these is known.

    Raises:
        SelectionError: ``peak`` cannot be understood.
    """
    count = trace.device_work.height
    moved, measured_ns = np.zeros(count), np.zeros(count, np.int64)
    start = trace.device_work["start_ns"].to_numpy()
    duration = trace.device_work["dur_ns"].to_numpy()
    device = indices(trace.device_work["device"])
    is_known = False
    bandwidths = {
        each: known.bandwidth_gb_per_s for each, known in device_peaks(trace, peak).items()
    }
    for gpu in np.unique(device[device >= 0]).tolist():
        rows = np.flatnonzero(device == gpu)
        for roles, scale in _sources(bandwidths.get(gpu)):
            signals = [signals_of_role(trace, role).get(gpu) for role in roles]
            known = [each for each in signals if each is not None]
            if len(known) == len(roles):
                begin, end = start[rows], start[rows] + duration[rows]
                sums = [window_sums(each, begin, end) for each in known]
                moved[rows] = scale * np.sum([each.integral for each in sums], axis=0)
                measured_ns[rows] = np.min([each.covered_ns for each in sums], axis=0)
                is_known = True
                break
    values = work_values(trace)
    counted = [values[role] for role in ("dram_read_bytes", "dram_write_bytes") if role in values]
    if counted:
        given = ~np.isnan(counted).all(axis=0)
        moved[given] = np.nansum(counted, axis=0)[given]
        measured_ns[given] = duration[given]
        is_known = True
    return WorkTraffic(moved, measured_ns) if is_known else None


def _sources(bandwidth: float | None) -> list[tuple[tuple[str, ...], float]]:
    """Roles whose sum is the traffic, and bytes per ns of 1 of their unit; preferred ones first."""
    sources: list[tuple[tuple[str, ...], float]] = [(("dram_read", "dram_write"), 1 / NS_PER_S)]
    if bandwidth is not None:  # 10⁹ bytes per second are one byte per ns
        of_peak = bandwidth / 100
        sources += [
            (("dram_bandwidth",), of_peak),
            (("dram_read_pct", "dram_write_pct"), of_peak),
        ]
    return sources


def grouped_traffic(
    trace: Trace, group_by: str, mask: Bools, peak: str | None = None
) -> pl.DataFrame | None:
    """The traffic of the calls of ``mask``, summed as ``grouped`` sums them and in its order; None
    where nothing is measured.

    Columns: ``measured_bytes`` in ``measured_ns`` of the calls' work, ``own_pct`` (the share of
    that time in samples that the group fills by half), and of calls whose bytes are computed:
    ``compared_bytes`` measured, and ``computed_bytes`` times the measured share of their time.

    Raises:
        SelectionError: ``peak`` cannot be understood.
    """
    traffic = work_traffic(trace, peak)
    if traffic is None:
        return None
    calls, group = holding_calls(trace), _groups(trace, group_by, mask)
    count = int(group.max(initial=-1)) + 1
    call_of_row = np.full(int(calls.row.max(initial=-1)) + 2, -1, np.int64)
    call_of_row[calls.row] = np.arange(len(calls.row))
    call = np.append(call_of_row, -1)[work_holders(trace)]
    of_work = np.append(group, -1)[call]
    rows = np.flatnonzero(of_work >= 0)
    measured = np.bincount(call[rows], traffic.bytes[rows], len(calls.row))
    time = np.zeros(len(calls.row), np.int64)
    np.add.at(time, call[rows], traffic.measured_ns[rows])
    with np.errstate(invalid="ignore", divide="ignore"):
        computed = calls.bytes * np.where(calls.time_ns > 0, time / calls.time_ns, np.nan)
    is_compared = (group >= 0) & np.isfinite(computed) & (time > 0) & ~calls.is_on_links
    own_ns, covered_ns = _own(trace, rows, of_work[rows], count)
    with np.errstate(invalid="ignore", divide="ignore"):
        own_pct = np.where(covered_ns > 0, 100 * own_ns / covered_ns, np.nan)
    chosen = np.flatnonzero(group >= 0)
    compared = np.flatnonzero(is_compared)
    totals: Mapping[str, Float64 | Int64] = {
        "measured_bytes": np.bincount(group[chosen], measured[chosen], count),
        "measured_ns": np.bincount(group[chosen], time[chosen], count).astype(np.int64),
        "own_pct": own_pct,
        "compared_bytes": np.bincount(group[compared], measured[compared], count),
        "computed_bytes": np.bincount(group[compared], computed[compared], count),
    }
    return pl.DataFrame(totals, schema=SCHEMA, nan_to_null=True)


def _groups(trace: Trace, group_by: str, mask: Bools) -> Int64:
    """Per holding call the number of its group, in order of first calls; -1 outside ``mask``."""
    keys = KEYS[group_by]
    frame = pl.DataFrame({key: key_of_calls(trace, key) for key in keys})
    chosen = frame.with_row_index("call").filter(pl.Series(mask))
    members = chosen.group_by(keys, maintain_order=True).agg("call")["call"]
    number = np.repeat(np.arange(len(members)), members.list.len().to_numpy())
    group = np.full(len(mask), -1, np.int64)
    group[members.explode(empty_as_null=False).to_numpy()] = number
    return group


def _own(trace: Trace, rows: Int64, group: Int64, count: int) -> tuple[Int64, Int64]:
    """Measured time of groups that is their own, and all of it, of the first role there is."""
    means = bandwidth_means(trace, rows, group, count)
    for role in ("dram_read", "dram_read_bytes", "dram_write_bytes"):
        if means is None:
            means = group_means(trace, role, rows, group, count)
    if means is None:
        nothing = np.zeros(count, np.int64)
        return nothing, nothing
    return means.own_ns, means.covered_ns
