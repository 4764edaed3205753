"""Facts on graphs: their share of device time, and how much of it is attributed.

Definitions: ``docs/views-compiled.md#facts``.
"""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.analysis.kernels.graphs.attribution import NONE, SOURCES, attribution
from torch_tb_profiler.analysis.kernels.graphs.events import graph_events
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.times import graph_times
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import device_work_mask
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import exact_microseconds, mean_microseconds
from torch_tb_profiler.views.schema import Fact, Note

NO_LAUNCHES = "No graph was launched in the selection."
NO_DEVICE_TIME = "No device work is in the selection."
NO_GRAPH_TIME = "The graph kernels in the selection have no duration."


def graph_facts(trace: Trace, selection: Selection, selected: Bools) -> tuple[Fact, ...]:
    """The figures of a selection and its launches."""
    launches, times = graph_launches(trace), graph_times(trace)
    dur = trace.device_work["dur_ns"].to_numpy()
    in_selection = device_work_mask(trace, selection)
    rows = launches.row[in_selection[launches.row]]
    chosen = selected[launches.launch]
    work = dur[launches.row[chosen]]
    attributed = work[attribution(trace).source[chosen] != NONE]
    span = times.span_ns[selected]
    gaps = span - times.busy_ns[selected]
    no_time = NO_GRAPH_TIME if selected.any() else NO_LAUNCHES
    text = "Graph launches whose first kernel is in the selection."
    return (
        Fact("graph_launches", "Graph launches", int(selected.sum()), "count", None, text),
        _share(
            "graph_time_pct",
            "Device time in graphs",
            _pct(dur[rows], dur[in_selection]),
            "Summed duration of graph kernels as share of all kernels, copies and memsets in the "
            "selection.",
            NO_DEVICE_TIME,
        ),
        _mean_launch(span),
        _share(
            "graph_gaps_pct",
            "Gaps in launches",
            _pct(gaps, span),
            "Time within launches in which none of their kernels ran, as share of the launch time.",
            no_time,
        ),
        _share(
            "attributed_pct",
            "Attributed",
            _pct(attributed, work),
            "Share of graph kernel time with a known module, annotation or operator.",
            no_time,
        ),
    )


def _mean_launch(span_ns: Int64) -> Fact:
    text = "Mean device time of a launch, from its first kernel start to its last kernel end."
    mean = mean_microseconds(span_ns)
    reason = NO_LAUNCHES if mean is None else None
    return Fact("mean_launch_us", "Mean launch", mean, "us", None, text, reason)


def _share(key: str, title: str, value: float | None, text: str, reason: str) -> Fact:
    return Fact(key, title, value, "pct", None, text, reason if value is None else None)


def _pct(part_ns: Int64, whole_ns: Int64) -> float | None:
    whole = int(whole_ns.sum())
    return 100.0 * int(part_ns.sum()) / whole if whole else None


def graph_notes(trace: Trace, selected: Bools) -> tuple[Note, ...]:
    """Notes on how graph kernels are attributed, and on missing data of launches."""
    launches = graph_launches(trace)
    notes: list[Note] = []
    chosen = selected[launches.launch]
    if chosen.any():
        notes.append(_attribution_note(trace, chosen))
    nameless = int((launches.graph[selected] < 0).sum())
    if nameless:
        text = (
            f"{nameless:,} launches are of graphs without a recorded id: launches "
            "that ran the same kernels equally often count as one graph, and nodes are "
            "identified by name and order."
        )
        notes.append(Note("quality", "graph_nodes_unnumbered", "info", text, {"count": nameless}))
    whole = int(launches.is_whole[selected].sum())
    if whole:
        text = (
            f"{whole:,} graph launches were recorded as a whole, without their kernels: record "
            "with --cuda-graph-trace=node (Nsight Systems) to see them."
        )
        notes.append(Note("quality", "graph_without_kernels", "warning", text, {"count": whole}))
    note = _other_nodes_note(trace, selected)
    if note is not None:
        notes.append(note)
    if len(launches.without_work):
        count = len(launches.without_work)
        text = (
            f"{count:,} calls launched a graph with no recorded kernels: the recording ended "
            "before they ran, or started after the graph was instantiated."
        )
        notes.append(
            Note("quality", "graph_launch_without_work", "warning", text, {"count": count})
        )
    return tuple(notes)


def _other_nodes_note(trace: Trace, selected: Bools) -> Note | None:
    """What the graphs hold beside device work; None for nothing. A node whose launch is unknown
    counts where all launches do."""
    events = graph_events(trace)
    shown = np.append(selected, selected.all())[events.launch]
    host = events.slice[shown & events.is_host]
    recorded = int((shown & ~events.is_host).sum())
    if not len(host) and not recorded:
        return None
    total_us = exact_microseconds(int(trace.slices["dur_ns"].gather(host).sum()))
    text = (
        f"Graphs also ran {len(host):,} callbacks of the host ({total_us:,.1f} µs in all) and "
        f"recorded {recorded:,} events. They are on the timeline, but are no device work and in no "
        "sum of it."
    )
    evidence: dict[str, object] = {
        "host_nodes": len(host),
        "host_nodes_us": total_us,
        "event_nodes": recorded,
    }
    return Note("quality", "graph_other_nodes", "info", text, evidence)


def _attribution_note(trace: Trace, chosen: Bools) -> Note:
    source = attribution(trace).source[chosen]
    dur = trace.device_work["dur_ns"].to_numpy()[graph_launches(trace).row[chosen]]
    whole = max(int(dur.sum()), 1)
    by_source = [int(dur[source == code].sum()) for code in range(len(SOURCES))]
    parts = [
        f"{100 * ns / whole:.1f} % by {SOURCES[code]}"
        for code, ns in enumerate(by_source)
        if code != NONE and ns
    ]
    if parts:
        text = f"Graph kernels are attributed, as share of their time: {', '.join(parts)}."
    else:
        text = (
            "The kernels of these graphs cannot be attributed to modules or operators. Annotate "
            "nodes when the graph is captured (torch.cuda.graph(enable_annotations=True) and "
            "mark_kernels), let vLLM or SGLang write capture traces, or record each node with "
            "Nsight Systems (--cuda-graph-trace=node, from before the capture)."
        )
    shares = {
        str(SOURCES[code] or "unknown"): 100 * ns / whole for code, ns in enumerate(by_source) if ns
    }
    missing = np.count_nonzero(source == NONE)
    evidence: dict[str, object] = {"shares_pct": shares, "not_told": int(missing)}
    return Note("quality", "graph_attribution", "info", text, evidence)
