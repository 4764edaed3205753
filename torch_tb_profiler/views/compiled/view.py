"""Graphs and compile: what launches of CUDA and HIP graphs ran, and what ``torch.compile`` made.

Definitions: ``docs/views-compiled.md``.
"""

from __future__ import annotations

from torch_tb_profiler.analysis.kernels.compiled.compilations import compilations
from torch_tb_profiler.analysis.kernels.compiled.regions import compiled_calls
from torch_tb_profiler.analysis.kernels.compiled.triton import generated_calls
from torch_tb_profiler.analysis.kernels.graphs.launch_selection import (
    resolve_launch,
    selected_launches,
)
from torch_tb_profiler.analysis.kernels.graphs.launches import graph_launches
from torch_tb_profiler.analysis.kernels.graphs.node_sums import node_sums
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.masks import slice_mask
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compiled import PARAMETERS
from torch_tb_profiler.views.compiled.compile_facts import compile_facts, compile_notes
from torch_tb_profiler.views.compiled.facts import graph_facts, graph_notes
from torch_tb_profiler.views.compiled.kernels import KERNELS, KINDS, kernels_table, kinds_table
from torch_tb_profiler.views.compiled.launches import (
    GRAPHS,
    LAUNCHES,
    graphs_table,
    launches_table,
)
from torch_tb_profiler.views.compiled.nodes import NODES, PARTS, nodes_table, parts_table
from torch_tb_profiler.views.compiled.regions import (
    COMPILATIONS,
    REGIONS,
    compilations_table,
    regions_table,
)
from torch_tb_profiler.views.compiled.triton import TRITON, triton_table
from torch_tb_profiler.views.quality_notes import LINK_ISSUES, quality_notes
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec

BESIDE_ISSUES = frozenset({"beside_unread", "beside_left_out"})
"""Issues of files beside the trace."""

NOTHING = (
    "The recording holds no launch of a CUDA or HIP graph, and nothing that torch.compile made."
)


def compiled(trace: Trace, selection: Selection, *, operator_id: str | None = None) -> View:
    """The graphs and the compiled code of a selection; the kernels of the launch whose number is
    ``operator_id``, else of the longest one.

    Raises:
        SelectionError: steps, or the number of a launch, make no sense for this trace.
    """
    selected = selected_launches(trace, selection)
    in_selection = slice_mask(trace, selection)
    tables, facts = list(_graph_tables(trace, selected, operator_id)), list[Fact]()
    if tables:
        facts += graph_facts(trace, selection, selected)
    if generated_calls(trace).height:
        tables.append(triton_table(trace, in_selection))
    if _has_compiled(trace):
        tables += (regions_table(trace, in_selection), compilations_table(trace, in_selection))
        facts += compile_facts(trace, in_selection)
    return View(
        tables={table.spec.name: table for table in tables},
        facts=tuple(facts),
        notes=(
            *graph_notes(trace, selected),
            *compile_notes(trace, selection),
            *quality_notes(trace, LINK_ISSUES | BESIDE_ISSUES),
        ),
    )


def _graph_tables(trace: Trace, selected: Bools, operator_id: str | None) -> tuple[Table, ...]:
    if not len(selected):
        return ()
    launch = resolve_launch(trace, selected, operator_id)
    sums = node_sums(trace, selected)
    return (
        graphs_table(trace, selected),
        launches_table(trace, selected),
        kernels_table(trace, launch),
        kinds_table(trace, launch, selected),
        nodes_table(trace, sums),
        parts_table(trace, sums, selected),
    )


def _has_compiled(trace: Trace) -> bool:
    return bool(len(compiled_calls(trace).slice) or len(compilations(trace).slice))


def _missing(trace: Trace) -> str | None:
    launches = graph_launches(trace)
    if launches.count or len(launches.without_work) or _has_compiled(trace):
        return None
    return None if generated_calls(trace).height else NOTHING


SPEC = ViewSpec(
    name="compiled",
    title="Graphs and Compile",
    help="Which graphs were launched, what did each launch run and where are its gaps; what did "
    "torch.compile make, and when did it compile again?",
    scope="trace",
    parameters=PARAMETERS,
    tables=(GRAPHS, LAUNCHES, KERNELS, KINDS, NODES, PARTS, TRITON, REGIONS, COMPILATIONS),
    function=compiled,
    missing=_missing,
    by_phase=True,
)
