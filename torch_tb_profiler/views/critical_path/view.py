"""The view ``critical_path``: what a step's length is made of, moment by moment.

Definitions: ``docs/views-critical-path.md``.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from msgspec.structs import replace

from torch_tb_profiler.analysis.idle.critical_path.parts import ON_DEVICE, PathPart
from torch_tb_profiler.analysis.idle.critical_path.path import CriticalPath
from torch_tb_profiler.analysis.idle.critical_path.path import critical_path as path_of_step
from torch_tb_profiler.analysis.idle.critical_path.selected_steps import select_steps
from torch_tb_profiler.analysis.operators.calls import no_operators
from torch_tb_profiler.analysis.recording.missing_reasons import no_device_time
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.derived import per_split
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.critical_path import PARAMETERS
from torch_tb_profiler.views.critical_path.answer import answer
from torch_tb_profiler.views.critical_path.columns import (
    CATEGORIES,
    OPERATORS,
    PIECES,
    TITLES,
    WHAT_IF,
)
from torch_tb_profiler.views.critical_path.pieces import pieces_table
from torch_tb_profiler.views.critical_path.sums import (
    BOTH_SIDES,
    categories_table,
    name_sums,
    operators_table,
    part_times,
)
from torch_tb_profiler.views.critical_path.what_ifs import evaluate_what_if, what_if_table
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Fact, Note, View
from torch_tb_profiler.views.spec import ViewSpec

NO_TIME = "The selection is empty."

CACHED_VIEWS = 4
"""Views of different steps that are cached per trace."""


def critical_path(trace: Trace, selection: Selection, *, what_if: str | None = None) -> View:
    """The critical path of the selected steps, or of the one of median length; and the effect of
    the change ``what_if``: ``ROW:halve``, ``ROW:remove`` or ``ROW:overlap``.

    Raises:
        SelectionError: steps that are malformed or not in this trace, or a what-if that names
            nothing of them.
    """
    names, steps, left_out = select_steps(trace, selection)
    paths = [path_of_step(trace, step) for step in steps]
    view = _cached_view(trace, names, paths)
    facts, notes = view.facts, (*view.notes, *_left_out(left_out))
    if what_if is not None:
        sums = name_sums(trace, paths)
        more, why = evaluate_what_if(trace, paths, sums, what_if)
        facts, notes = (*facts, *more), (*notes, *why)
    # Not kept with the trace: it holds the trace itself, to make more rows.
    tables = {**view.tables, PIECES.name: pieces_table(trace, names, paths)}
    return replace(view, tables=tables, facts=facts, notes=notes)


class _ViewCache:
    """Views of the last requested paths."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.views: OrderedDict[tuple[int, ...], tuple[list[CriticalPath], View]] = OrderedDict()


@per_split
def _view_cache(_trace: Trace) -> _ViewCache:
    return _ViewCache()


def _cached_view(trace: Trace, names: list[str], paths: list[CriticalPath]) -> View:
    """The view without the requested what-if; built once while the same paths are cached."""
    cache = _view_cache(trace)
    key = tuple(map(id, paths))  # the paths are cached with the view, so that ids stay unique
    with cache.lock:
        if key not in cache.views:
            cache.views[key] = (paths, _view(trace, names, paths))
            while len(cache.views) > CACHED_VIEWS:
                cache.views.popitem(last=False)
        return cache.views[key][1]


def _view(trace: Trace, names: list[str], paths: list[CriticalPath]) -> View:
    sums = name_sums(trace, paths)
    whole = sum(path.step_graph.graph.length_ns for path in paths)
    tables = (
        categories_table(paths),
        operators_table(trace, sums, whole),
        what_if_table(trace, paths, sums),
    )
    return View(
        tables={table.spec.name: table for table in tables},
        facts=_facts(names, part_times(paths), whole),
        notes=(*_of_host(trace), *quality_notes(trace, LINK_ISSUES)),
    )


def _facts(names: list[str], times: dict[PathPart, int], whole: int) -> tuple[Fact, ...]:
    device = sum(times[part] for part in ON_DEVICE)
    between = sum(times[part] for part in BOTH_SIDES)
    known = whole - times[PathPart.UNKNOWN]
    host = known - device - between
    main = max(times, key=lambda part: times[part])
    text = f"{TITLES[main]}: {100 * times[main] / whole:.0f} %" if whole else None
    reason = None if whole else NO_TIME

    def share(part_ns: int) -> float | None:
        return 100 * part_ns / whole if whole else None

    return (
        Fact(
            "step",
            "Step",
            ", ".join(names) or None,
            None,
            None,
            "Step of the path: the selected ones, else the one of median length.",
            reason,
        ),
        Fact("step_us", "Duration", whole / NS_PER_US, "us", None, "Duration of the step."),
        Fact(
            "path_us",
            "Path",
            known / NS_PER_US,
            "us",
            None,
            "Part of the step that the path explains; nothing was recorded in the rest.",
        ),
        Fact("main", "Largest part", text, None, None, "Largest category of the path.", reason),
        Fact(
            "host_pct",
            "Host",
            share(host),
            "pct",
            None,
            "Share of the step that is host-bound: operators, Python, runtime calls, data loading.",
            reason,
        ),
        Fact(
            "device_pct",
            "Device",
            share(device),
            "pct",
            None,
            "Share of the step that is device-bound: device work and the gaps between it.",
            reason,
        ),
        Fact(
            "between_pct",
            "Launch and Return",
            share(between),
            "pct",
            None,
            "Share of the step between host and device: launch latency and synchronization return.",
            reason,
        ),
    )


def _of_host(trace: Trace) -> tuple[Note, ...]:
    missing = no_device_time(trace)
    if missing is None:
        return ()
    text = f"{missing} The critical path covers the host only."
    return (Note("quality", "path_of_host", "info", text),)


def _left_out(steps: int) -> tuple[Note, ...]:
    if not steps:
        return ()
    text = f"{steps} more selected steps are not included; select fewer steps to see them."
    return (Note("quality", "path_steps_left_out", "info", text),)


def _missing(trace: Trace) -> str | None:
    return no_operators(trace) if trace.device_work.is_empty() else None


SPEC = ViewSpec(
    name="critical_path",
    title="Steps: Critical path",
    help="What limits the step at each moment, and what would make it shorter?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(CATEGORIES, OPERATORS, WHAT_IF, PIECES),
    function=critical_path,
    missing=_missing,
    leading_facts=("main", "host_pct", "device_pct"),
    answer=answer,
)
