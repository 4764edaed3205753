"""The tables of graphs and of their launches.

Definitions: ``docs/views-compiled.md#graph-launches``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from torch_tb_profiler.analysis.algebra.dense_ids import factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices
from torch_tb_profiler.analysis.idle.gaps import gaps_before
from torch_tb_profiler.analysis.kernels.graphs.attribution import (
    NONE,
    attribution,
    launch_ranges,
)
from torch_tb_profiler.analysis.kernels.graphs.events import graph_events
from torch_tb_profiler.analysis.kernels.graphs.kinds import GROUPS, graph_work_kinds
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.nodes import graph_nodes
from torch_tb_profiler.analysis.kernels.graphs.times import graph_times
from torch_tb_profiler.analysis.steps.masks import device_work_steps
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compiled.filled import filled, gathered, in_us, names_behind
from torch_tb_profiler.views.null_reasons import recorded_reason
from torch_tb_profiler.views.schema import Column, Table, TableSpec

NO_GRAPHS = (
    "The selection has no graph launches: no call that launches one, and no kernel of a graph."
)
NO_CALL = "The launching call was not recorded."
NO_RANGE = "The launch is in no user range."
ONE_WHOLE = "Only the graph as a whole was recorded, without its kernels."

_GRAPH = Column(
    "graph",
    "Graph",
    "string",
    None,
    "Id of the graph as recorded; #1, #2 … if there is none: launches that ran the same kernels "
    "then count as one graph.",
)


def _time(key: str, title: str, text: str, family: str, **more: Any) -> Column:
    return Column(key, title, "number", "us", text, family=family, **more)


def _kind_columns(prefix: str, whose: str, family: str) -> tuple[Column, ...]:
    words = {
        "matrix": ("Matrix", "matrix products and convolutions"),
        "attention": ("Attention", "fused attention"),
        "communication": ("Communication", "communication (such as all-reduce)"),
        "other": ("Other", "all other work"),
    }
    return tuple(
        _time(
            f"{prefix}{key}_us",
            title,
            f"Summed duration of {text} {whose}, inferred from kernel names.",
            family,
        )
        for key, (title, text) in words.items()
    )


GRAPHS = TableSpec(
    "graphs",
    "Graphs",
    "One row per graph: its launches in the selection and the mean times of a launch.",
    (
        _GRAPH,
        Column("launches", "Launches", "integer", "count", "How often it ran.", additive=True),
        Column("kernels", "Kernels", "number", "count", "Kernels, copies and memsets per launch."),
        Column(
            "host_nodes",
            "Host Nodes",
            "number",
            "count",
            "Callbacks of the host per launch; they are no device work.",
            hidden=True,
        ),
        Column(
            "event_nodes",
            "Event Nodes",
            "number",
            "count",
            "Recorded events per launch; they are no device work.",
            hidden=True,
        ),
        _time(
            "total_us",
            "Total Span",
            "Summed time from first kernel start to last kernel end of each launch.",
            "total",
            additive=True,
        ),
        _time("mean_span_us", "Mean Span", "Mean device time of a launch.", "span"),
        _time("min_span_us", "Min Span", "Shortest launch on the device.", "span"),
        _time("max_span_us", "Max Span", "Longest launch on the device.", "span"),
        _time("mean_busy_us", "Mean Busy", "Mean time in which any of its kernels ran.", "span"),
        _time(
            "mean_gaps_us",
            "Mean Gaps",
            "Mean time within a launch in which none of its kernels ran.",
            "span",
        ),
        Column(
            "gaps_pct",
            "Gaps",
            "number",
            "pct",
            "Share of the spans in which none of its kernels ran.",
        ),
        _time(
            "mean_idle_before_us",
            "Mean Idle Before",
            "Mean idle time of the device directly before a launch.",
            "span",
        ),
        *_kind_columns("mean_", "in a launch on average", "span"),
        Column(
            "attributed_pct",
            "Attributed",
            "number",
            "pct",
            "Share of its kernel time with a known module, annotation or operator.",
        ),
    ),
    sort="-total_us,graph",
    when_empty=NO_GRAPHS,
)

LAUNCHES = TableSpec(
    "graph_launches",
    "Graph launches",
    "One row per graph launch: when it ran, which graph, and how long its kernels took.",
    (
        Column(
            "launch",
            "Launch",
            "integer",
            None,
            "Number of the launch in the recording, from 1; operator_id=NUMBER lists its kernels.",
        ),
        Column(
            "start_us",
            "Start",
            "number",
            "us",
            "Start of its first kernel, relative to the start of the recording.",
        ),
        Column("step", "Step", "string", None, "The step that launched it."),
        Column("range", "Range", "string", None, "Innermost user range around the launch."),
        _GRAPH,
        Column(
            "kernels",
            "Kernels",
            "integer",
            "count",
            "Kernels, copies and memsets that it ran.",
            additive=True,
        ),
        Column(
            "host_nodes",
            "Host Nodes",
            "integer",
            "count",
            "Callbacks of the host that it ran; they are no device work.",
            hidden=True,
            additive=True,
        ),
        _time(
            "host_nodes_us",
            "Host Nodes Time",
            "Summed duration of these callbacks: what depends on them waits.",
            "span",
            hidden=True,
            additive=True,
        ),
        Column(
            "event_nodes",
            "Event Nodes",
            "integer",
            "count",
            "Events that it recorded; they are no device work.",
            hidden=True,
            additive=True,
        ),
        _time(
            "span_us",
            "Span",
            "From its first kernel start to its last kernel end.",
            "span",
            additive=True,
        ),
        _time("busy_us", "Busy", "Time in which any of its kernels ran.", "span", additive=True),
        _time(
            "gaps_us",
            "Gaps",
            "Time within the span in which none of them ran.",
            "span",
            additive=True,
        ),
        Column("gaps_pct", "Gaps Share", "number", "pct", "Gaps as share of the span."),
        _time(
            "longest_gap_us",
            "Longest Gap",
            "Longest time within the span in which none of them ran.",
            "span",
        ),
        _time(
            "idle_before_us",
            "Idle Before",
            "Idle time of the device directly before its first kernel: between two decode steps, "
            "the time the host takes.",
            "span",
            additive=True,
        ),
        *_kind_columns("", "that it ran", "kinds"),
        Column("call", "Host Call", "string", None, "Host call that launched it."),
        _time("call_us", "Host Time", "Duration of that call on the host.", "host"),
        _time(
            "delay_us",
            "Delay",
            "From the start of the call to the start of its first kernel, including the wait for "
            "work queued earlier.",
            "host",
        ),
        Column(
            "first_kernel",
            "First Kernel",
            "string",
            None,
            "Kernel that started first.",
            hidden=True,
        ),
        Column(
            "last_kernel", "Last Kernel", "string", None, "Kernel that started last.", hidden=True
        ),
    ),
    sort="start_us,launch",
    when_empty=NO_GRAPHS,
)


def launches_table(trace: Trace, selected: Bools) -> Table:
    """The rows of :data:`LAUNCHES` of the selected launches."""
    launches, times, nodes = graph_launches(trace), graph_times(trace), graph_nodes(trace)
    chosen = np.flatnonzero(selected)
    row = launches.row[launches.first[:-1]][chosen]
    last = launches.row[launches.first[1:] - 1][chosen]
    names, call = indices(trace.device_work["name_code"]), launches.slice[chosen]
    counts = np.diff(launches.first)[chosen]
    span, busy = times.span_ns[chosen], times.busy_ns[chosen]
    kinds = _by_kind(trace)[:, chosen]
    labels = [nodes.label(graph) for graph in range(nodes.count)]
    host_nodes, event_nodes, host_ns = (each[chosen] for each in _other_nodes(trace))
    values: dict[str, Any] = {
        "launch": chosen + 1,
        "start_us": in_us(times.start_ns[chosen] - trace.meta.start_ns),
        "step": gathered(
            trace.steps["name"].to_list(), device_work_steps(trace)[row].astype(np.int64)
        ),
        "range": _names(trace, launch_ranges(trace)[chosen]),
        "graph": gathered(labels, nodes.graph[chosen]),
        "call": _names(trace, call),
        "call_us": _of_call(call, trace.slices["dur_ns"]),
        "delay_us": _delays(trace, call, times.start_ns[chosen]),
        "kernels": pl.Series(counts).set(pl.Series(launches.is_whole[chosen]), None),
        "host_nodes": host_nodes,
        "host_nodes_us": in_us(host_ns),
        "event_nodes": event_nodes,
        "span_us": in_us(span),
        "busy_us": in_us(busy),
        "gaps_us": in_us(span - busy),
        "gaps_pct": _share(span - busy, span),
        "longest_gap_us": in_us(times.longest_gap_ns[chosen]),
        "idle_before_us": in_us(gaps_before(trace)[row]),
        **{f"{group}_us": in_us(kinds[index]) for index, group in enumerate(GROUPS)},
        "first_kernel": names_behind(trace, names[row]),
        "last_kernel": names_behind(trace, names[last]),
    }
    reasons = dict.fromkeys(("call", "call_us", "delay_us"), NO_CALL)
    reasons |= {"range": NO_RANGE, "kernels": recorded_reason(trace, "graph_kernels") or ONE_WHOLE}
    return filled(LAUNCHES, values, reasons)


def graphs_table(trace: Trace, selected: Bools) -> Table:
    """The rows of :data:`GRAPHS` of the selected launches."""
    launches, times, nodes = graph_launches(trace), graph_times(trace), graph_nodes(trace)
    chosen = np.flatnonzero(selected)
    graphs, graph_row = factorize(nodes.graph[chosen])
    count = np.bincount(graph_row, minlength=len(graphs))

    def sums(values: Int64) -> Int64:
        total: Int64 = np.zeros(len(graphs), np.int64)
        np.add.at(total, graph_row, values)
        return total

    span, busy = times.span_ns[chosen], times.busy_ns[chosen]
    idle = gaps_before(trace)[launches.row[launches.first[:-1]][chosen]]
    shortest = np.full(len(graphs), np.iinfo(np.int64).max)
    longest = np.zeros(len(graphs), np.int64)
    np.minimum.at(shortest, graph_row, span)
    np.maximum.at(longest, graph_row, span)
    kinds = [sums(each) for each in _by_kind(trace)[:, chosen]]
    is_whole = sums(launches.is_whole[chosen].astype(np.int64)) > 0
    work = sums(np.diff(launches.first)[chosen])
    attributed_ns, whole = (sums(each[chosen]) for each in _attributed(trace))
    host_nodes, event_nodes, _ = (sums(each[chosen]) for each in _other_nodes(trace))
    values: dict[str, Any] = {
        "graph": [nodes.label(graph) for graph in graphs.tolist()],
        "launches": count,
        "kernels": pl.Series(
            np.where(is_whole, np.nan, work / np.maximum(count, 1)), nan_to_null=True
        ),
        "host_nodes": host_nodes / np.maximum(count, 1),
        "event_nodes": event_nodes / np.maximum(count, 1),
        "total_us": in_us(sums(span)),
        "mean_span_us": in_us(sums(span), count),
        "min_span_us": in_us(shortest),
        "max_span_us": in_us(longest),
        "mean_busy_us": in_us(sums(busy), count),
        "mean_gaps_us": in_us(sums(span - busy), count),
        "gaps_pct": _share(sums(span - busy), sums(span)),
        "mean_idle_before_us": in_us(sums(idle), count),
        **{f"mean_{group}_us": in_us(kinds[at], count) for at, group in enumerate(GROUPS)},
        "attributed_pct": _share(attributed_ns, whole),
    }
    reasons = {"kernels": recorded_reason(trace, "graph_kernels") or ONE_WHOLE}
    return filled(GRAPHS, values, reasons)


@per_trace
def _by_kind(trace: Trace) -> npt.NDArray[np.int64]:
    """Per group of kinds and launch the summed duration in ns."""
    launches = graph_launches(trace)
    dur = trace.device_work["dur_ns"].to_numpy()[launches.row]
    total = np.zeros((len(GROUPS), launches.count), np.int64)
    np.add.at(total, (graph_work_kinds(trace).group, launches.launch), dur)
    return total


@per_trace
def _other_nodes(trace: Trace) -> tuple[Int64, Int64, Int64]:
    """Per launch its callbacks of the host, recorded events, and ns of the callbacks."""
    events, count = graph_events(trace), graph_launches(trace).count
    known = events.launch >= 0
    launch, is_host = events.launch[known], events.is_host[known]
    dur = trace.slices["dur_ns"].to_numpy()[events.slice[known]]
    host_ns = np.zeros(count, np.int64)
    np.add.at(host_ns, launch[is_host], dur[is_host])
    host_nodes, event_nodes = (
        np.bincount(launch[mask], minlength=count) for mask in (is_host, ~is_host)
    )
    return host_nodes, event_nodes, host_ns


@per_trace
def _attributed(trace: Trace) -> tuple[Int64, Int64]:
    """Per launch the summed duration of attributed kernels, and of all kernels."""
    launches = graph_launches(trace)
    dur = trace.device_work["dur_ns"].to_numpy()[launches.row]
    attributed_ns, whole = np.zeros(launches.count, np.int64), np.zeros(launches.count, np.int64)
    np.add.at(whole, launches.launch, dur)
    np.add.at(attributed_ns, launches.launch, np.where(attribution(trace).source != NONE, dur, 0))
    return attributed_ns, whole


def _names(trace: Trace, slices: Int64) -> pl.Series:
    """The names of slices, null of -1."""
    return names_behind(trace, gather(indices(trace.slices["name_code"]), slices))


def _of_call(call: Int64, ns: pl.Series) -> pl.Series:
    values = np.where(call >= 0, in_us(ns.to_numpy()[call]), np.nan)
    return pl.Series(values, nan_to_null=True)


def _delays(trace: Trace, call: Int64, start_ns: Int64) -> pl.Series:
    called = trace.slices["start_ns"].to_numpy()[call]
    values = np.where(call >= 0, in_us(np.maximum(start_ns - called, 0)), np.nan)
    return pl.Series(values, nan_to_null=True)


def _share(part: Int64, whole: Int64) -> pl.Series:
    shares = np.where(whole > 0, 100.0 * part / np.maximum(whole, 1), np.nan)
    return pl.Series(shares, nan_to_null=True)
