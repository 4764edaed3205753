"""Means of measured counters over the device work of groups: of a kernel, an operator, a module.

Definitions: ``docs/metrics.md#measured-counters``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.measured.counters import counters_of_role, device_counters
from torch_tb_profiler.analysis.measured.signals import Signal, WindowSums, window_sums
from torch_tb_profiler.analysis.measured.slice_values import range_signals, work_values
from torch_tb_profiler.knowledge.device_counters import counter_file
from torch_tb_profiler.trace.columns import Float64, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


class GroupMeans(Struct, frozen=True, eq=False):
    """One role over groups of device work, one value per group.

    Attributes:
        integral: Sum of value × time in ns where it is measured.
        covered_ns: Time of the work in which it is measured.
        own_ns: The part of it in samples that the group fills by at least half (``fill_pct``), and
            in values of its own slices.
        samples: How many samples, or values of slices, reach into the work.
        work_ns: Time of the work.
    """

    integral: Float64
    covered_ns: Int64
    own_ns: Int64
    samples: Int64
    work_ns: Int64

    @property
    def mean(self) -> Float64:
        """The time-weighted mean; NaN where nothing is measured."""
        return _divide(self.integral, self.covered_ns)

    @property
    def covered_pct(self) -> Float64:
        """The share of the work's time in which it is measured; NaN without work."""
        return 100 * _divide(self.covered_ns.astype(np.float64), self.work_ns)

    @property
    def own_pct(self) -> Float64:
        """The share of the measured time that is the group's own; NaN where nothing is measured."""
        return 100 * _divide(self.own_ns.astype(np.float64), self.covered_ns)


def signals_of_role(trace: Trace, role: str) -> dict[int, Signal]:
    """Device → its values over time: of its samples, else of ranges that were measured."""
    signals = {
        device: signal for (device, name), signal in range_signals(trace).items() if name == role
    }
    sampled = {device: each.signal for device, each in counters_of_role(trace, role).items()}
    return signals | {device: each for device, each in sampled.items() if len(each.value)}


def group_means(
    trace: Trace, role: str, rows: Int64, group: Int64, count: int
) -> GroupMeans | None:
    """A role over the work of each group; None where the recording has no values of it.

    Args:
        trace: The trace.
        role: A role of ``device_counters.toml`` whose values are means or hold from a time on.
        rows: Rows of ``trace.device_work``; a row may be of several groups.
        group: The group of each, below ``count``.
        count: Number of groups.
    """
    signals, values = signals_of_role(trace, role), work_values(trace).get(role)
    if not signals and values is None:
        return None
    start = trace.device_work["start_ns"].to_numpy()[rows]
    duration = trace.device_work["dur_ns"].to_numpy()[rows]
    sums = _Sums(count)
    np.add.at(sums.work_ns, group, duration)
    sampled = np.ones(len(rows), np.bool_)
    if values is not None:
        sampled = np.isnan(values[rows])
        given = np.flatnonzero(~sampled)
        sums.add_values(group[given], values[rows[given]], duration[given])
    device = indices(trace.device_work["device"])[rows]
    for number, signal in signals.items():
        chosen = np.flatnonzero(sampled & (device == number))
        if len(chosen):
            begin = start[chosen]
            inside = window_sums(signal, begin, begin + duration[chosen])
            sums.add_windows(group[chosen], signal, inside)
    return GroupMeans(sums.integral, sums.covered_ns, sums.own_ns, sums.samples, sums.work_ns)


class _Sums:
    """The sums of :class:`GroupMeans` while they grow."""

    def __init__(self, count: int) -> None:
        self.integral = np.zeros(count)
        self.covered_ns, self.own_ns, self.samples, self.work_ns = (
            np.zeros(count, np.int64) for _ in range(4)
        )

    def add_values(self, group: Int64, value: Float64, duration_ns: Int64) -> None:
        """Add values that are of single kernels."""
        np.add.at(self.integral, group, value * duration_ns)
        np.add.at(self.covered_ns, group, duration_ns)
        np.add.at(self.own_ns, group, duration_ns)
        np.add.at(self.samples, group, 1)

    def add_windows(self, group: Int64, signal: Signal, inside: WindowSums) -> None:
        """Add samples in the windows of single kernels. A sample that several kernels of a group
        share counts once, and is filled by all of them."""
        np.add.at(self.integral, group, inside.integral)
        np.add.at(self.covered_ns, group, inside.covered_ns)
        whole_ns = inside.covered_ns - inside.first_ns - inside.last_ns
        np.add.at(self.own_ns, group, whole_ns)
        np.add.at(self.samples, group, np.maximum(inside.samples - 2, 0))
        edges = pl.DataFrame(
            {
                "group": np.concatenate((group, group)),
                "sample": np.concatenate((inside.first, inside.last)),
                "ns": np.concatenate((inside.first_ns, inside.last_ns)),
            }
        ).filter(pl.col("ns") > 0)
        edges = edges.group_by("group", "sample").agg(pl.col("ns").sum())
        of_group, sample, ns = (edges[key].to_numpy() for key in ("group", "sample", "ns"))
        length = signal.end_ns[sample] - signal.start_ns[sample]
        fills = 100 * ns >= counter_file().fill_pct * length
        np.add.at(self.samples, of_group, 1)
        np.add.at(self.own_ns, of_group[fills], ns[fills])


def _divide(amount: Float64, among: Int64) -> Float64:
    with np.errstate(invalid="ignore", divide="ignore"):
        share: Float64 = np.where(among > 0, amount / among, np.nan)
    return share


def bandwidth_means(trace: Trace, rows: Int64, group: Int64, count: int) -> GroupMeans | None:
    """The bandwidth of the device's memory in % of its peak: as counted, else reads and writes
    added up; arguments as of :func:`group_means`."""
    whole = group_means(trace, "dram_bandwidth", rows, group, count)
    if whole is not None:
        return whole
    parts = [
        group_means(trace, role, rows, group, count) for role in ("dram_read_pct", "dram_write_pct")
    ]
    read, written = parts
    if read is None or written is None:
        return None
    covered = np.minimum(read.covered_ns, written.covered_ns)
    mean = np.where(covered > 0, read.mean + written.mean, 0.0)
    return GroupMeans(
        mean * covered,
        covered,
        np.minimum(read.own_ns, written.own_ns),
        np.minimum(read.samples, written.samples),
        read.work_ns,
    )


TABLE_ROLES = ("sm_active", "dram_bandwidth", "tensor_active", "occupancy")
"""The roles that tables of kernels, operators, modules and steps show."""


@per_trace
def _measured_roles(trace: Trace) -> frozenset[str | None]:
    """The roles that anything measures, of devices, of single kernels or of ranges."""
    measured = {each.role for each in device_counters(trace)} | set(work_values(trace))
    return frozenset(measured | {role for _, role in range_signals(trace)})


def is_role_measured(trace: Trace, role: str) -> bool:
    """Whether the recording has values of a role, of devices or of single kernels."""
    return role in _measured_roles(trace)


def has_measured_work(trace: Trace) -> bool:
    """Whether any of :data:`TABLE_ROLES` is measured."""
    return not _measured_roles(trace).isdisjoint((*TABLE_ROLES, "dram_read_pct", "dram_write_pct"))


def table_means(trace: Trace, rows: Int64, group: Int64, count: int) -> dict[str, GroupMeans]:
    """Role of :data:`TABLE_ROLES` → its means, of those that are measured; arguments as of
    :func:`group_means`."""
    means = {
        role: bandwidth_means(trace, rows, group, count)
        if role == "dram_bandwidth"
        else group_means(trace, role, rows, group, count)
        for role in TABLE_ROLES
    }
    return {role: each for role, each in means.items() if each is not None}
