"""Groups: what modules, user ranges and frames of call stacks take in each iteration.

Definitions: ``docs/views-groups.md``.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
from torch_tb_profiler.analysis.operators.hierarchies.hierarchy import KINDS, Kind
from torch_tb_profiler.analysis.operators.hierarchies.of_ranges import domains_of_ranges
from torch_tb_profiler.analysis.operators.hierarchies.timed import (
    TimedHierarchy,
    timed_call_stacks,
    timed_modules,
    timed_ranges,
)
from torch_tb_profiler.analysis.operators.hierarchies.twins import folded
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.analysis.selection import Selection, SelectionError, chosen_group_by
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.backward_note import backward_note
from torch_tb_profiler.views.flame_bars import flame_table
from torch_tb_profiler.views.groups import PARAMETERS
from torch_tb_profiler.views.groups.answer import answer
from torch_tb_profiler.views.groups.columns import FLAME, FOLDED, GROUPS, HIERARCHIES
from torch_tb_profiler.views.groups.communication_note import communication_note
from torch_tb_profiler.views.groups.rows import (
    MAX_ROWS,
    NO_GPU,
    Measures,
    folded_table,
    groups_table,
    measures,
)
from torch_tb_profiler.views.null_reasons import memory_alone, missing_reason, recorded_reason
from torch_tb_profiler.views.quality_notes import MODULE_ISSUES, listed, quality_notes
from torch_tb_profiler.views.schema import Fact, Note, Table, View
from torch_tb_profiler.views.spec import ViewSpec

_SEPARATORS: dict[Kind, str] = {"modules": "/", "ranges": "/", "call_stacks": ";"}
_NOUNS: dict[Kind, str] = {
    "modules": "modules",
    "ranges": "ranges of this domain",
    "call_stacks": "frames",
}
NOTHING = "The recording holds no user ranges, no modules and no call stacks."


class _Choice(Struct, frozen=True):
    kind: Kind
    domain: str


def groups(trace: Trace, selection: Selection, *, domain: str | None = None) -> View:
    """The tree of a hierarchy with the times of each node per iteration; that of the user ranges
    of ``domain`` where it is given.

    Raises:
        SelectionError: the selection names steps, a hierarchy or a domain that the trace does not
            have.
    """
    available = _available(trace)
    choice = _choice(selection, domain, available)
    timed = _timed_hierarchy(trace, choice)
    node_measures = measures(trace, timed, selection)
    hierarchy, shown = node_measures.hierarchy, node_measures.shown
    equals = folded(hierarchy.nodes, hierarchy.first_outside, _SEPARATORS[choice.kind])
    table = groups_table(node_measures, equals, shown)
    return View(
        tables={
            "groups": table,
            "folded_groups": folded_table(node_measures, equals, shown),
            "group_flame": _flame(table),
            "hierarchies": _hierarchies(available, choice),
        },
        facts=_facts(node_measures, choice),
        notes=(
            *quality_notes(trace, MODULE_ISSUES),
            *_notes(node_measures, len(shown)),
            *communication_note(node_measures),
            *(backward_note(trace, selection) if choice.kind == "ranges" else ()),
        ),
    )


def _available(trace: Trace) -> dict[tuple[Kind, str], int]:
    """The hierarchies a trace has, with the calls of each, the default first."""
    modules = module_tree(trace).count
    available: dict[tuple[Kind, str], int] = {("modules", ""): modules} if modules else {}
    for domain, ids in domains_of_ranges(trace).items():
        available["ranges", domain] = len(ids)
    frames = trace.slices["category"].is_in([int(each) for each in PYTHON_CATEGORIES]).sum()
    stacks = int(frames) or trace.operators["call_stack_code"].is_not_null().sum()
    if stacks:
        available["call_stacks", ""] = int(stacks)
    return available


def _choice(
    selection: Selection, domain: str | None, available: dict[tuple[Kind, str], int]
) -> _Choice:
    kinds = list(dict.fromkeys(kind for kind, _ in available))
    requested = chosen_group_by(selection, KINDS) if selection.group_by is not None else None
    if requested is None and domain is not None:
        requested = "ranges"
    kind = next((each for each in KINDS if each == requested), kinds[0] if kinds else "modules")
    domains = [each for of_kind, each in available if of_kind == kind]
    if kind != "ranges" or domain is None:
        return _Choice(kind, domains[0] if domains else "")
    if domain not in domains:
        raise SelectionError(
            f"domain: no user ranges of the domain {domain[:40]!r}; there are "
            f"{listed(domains) or 'none'}"
        )
    return _Choice(kind, domain)


def _timed_hierarchy(trace: Trace, choice: _Choice) -> TimedHierarchy:
    if choice.kind == "ranges" and choice.domain:
        return timed_ranges(trace)[choice.domain]
    return timed_call_stacks(trace) if choice.kind == "call_stacks" else timed_modules(trace)


def _flame(table: Table) -> Table:
    """The bars of what is in the tree; device bars are null where the device times are."""
    known = table.frame.filter(pl.col("kind") == "group")
    in_ns = known.select(
        "path",
        "parent",
        "name",
        *(
            (pl.col(key).fill_null(0) * NS_PER_US).round().cast(pl.Int64).alias(f"{side}_total_ns")
            for side, key in (("host", "cpu_total_us"), ("device", "gpu_total_us"))
        ),
    )
    flame = flame_table(FLAME, in_ns)
    reason = table.null_reasons.get("gpu_total_us")
    if reason is None:
        return flame
    reasons = dict.fromkeys(("device_left_us", "device_width_us"), reason)
    unknown = [pl.lit(None, pl.Float64).alias(key) for key in reasons]
    return Table(FLAME, flame.frame.with_columns(unknown), reasons)


def _hierarchies(available: dict[tuple[Kind, str], int], choice: _Choice) -> Table:
    rows = [
        (kind, domain or None, calls, (kind, domain) == (choice.kind, choice.domain))
        for (kind, domain), calls in available.items()
    ]
    frame = pl.DataFrame(rows, schema=HIERARCHIES.polars_schema(), orient="row")
    return Table(HIERARCHIES, frame)


def _facts(node_measures: Measures, choice: _Choice) -> tuple[Fact, ...]:
    times = node_measures.times
    no_gpu = node_measures.unknown.get("gpu_pct")
    share = None
    if no_gpu is None and times.work_ns:
        share = times.outside_ns / times.work_ns * 100
    return (
        Fact(
            "gpu_time_outside_pct",
            f"GPU time outside all {_NOUNS[choice.kind]}",
            share,
            "pct",
            None,
            "Share of the summed duration of all kernels, copies and memsets of the iterations "
            "launched outside; the rows of kind outside show by what.",
            None if share is not None else no_gpu or NO_GPU,
        ),
        Fact(
            "iterations",
            "Iterations",
            len(times.windows.names),
            "count",
            None,
            "Number of iterations over which times are summed and averaged.",
        ),
    )


def _notes(node_measures: Measures, shown: int) -> tuple[Note, ...]:
    notes: list[Note] = []
    lost_ns = node_measures.times.left_out_ns
    if lost_ns:
        whole = lost_ns + node_measures.times.work_ns
        notes.append(
            Note(
                "quality",
                "work_in_no_iteration",
                "info",
                f"{lost_ns / NS_PER_US:,.0f} µs of device work ({lost_ns / whole * 100:.1f} %) "
                "were launched outside these iterations and are in no row.",
                {"device_us": lost_ns / NS_PER_US},
            )
        )
    left_out = int(_with_time(node_measures) - shown)
    if left_out > 0:
        notes.append(
            Note(
                "quality",
                "groups_left_out",
                "info",
                f"The {MAX_ROWS:,} groups with most time are shown; the times of {left_out:,} "
                "more are included in their parents.",
                {"groups": left_out},
            )
        )
    return tuple(notes)


def _with_time(node_measures: Measures) -> int:
    keys = ("cpu", "gpu")
    return len(
        distinct_values(np.concatenate([node_measures.times.measures[key].node for key in keys]))
    )


def _missing(trace: Trace) -> str | None:
    if _available(trace):
        return memory_alone(trace)
    return recorded_reason(trace, "ranges") or missing_reason(trace, "modules", NOTHING)


SPEC = ViewSpec(
    name="groups",
    title="Operators: Range",
    help="How much time do modules, user ranges and call stacks take in each iteration, and which "
    "layer is an outlier among its siblings?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(GROUPS, FOLDED, FLAME, HIERARCHIES),
    function=groups,
    group_bys=KINDS,
    missing=_missing,
    needs_moments=False,
    leading_facts=("gpu_time_outside_pct",),
    answer=answer,
)
