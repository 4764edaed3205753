"""The declaration of a view: its name, what it needs, and the function that computes it.

Apart from :mod:`torch_tb_profiler.views.registry`, so that view modules can declare themselves
without importing each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.parameters import Parameter
from torch_tb_profiler.views.schema import TableSpec, View

Scope = Literal["trace", "run", "pair"]


class TraceView(Protocol):
    """The function of a ``trace`` view; each parameter it declares is a keyword argument, None
    where nobody gave it."""

    def __call__(self, trace: Trace, selection: Selection, /, *args: Any, **kwargs: Any) -> View:
        """The view of the selected part of a trace."""


class RunView(Protocol):
    """The function of a ``run`` view, likewise."""

    def __call__(
        self, traces: Mapping[str, Trace], selection: Selection, /, *args: Any, **kwargs: Any
    ) -> View:
        """The view of the selected part of every worker's trace."""


PairView = Callable[[Trace, Selection, Trace, Selection], View]
"""The function of a ``pair`` view: a baseline and what of it, a candidate and what of it."""


class ViewSpec(Struct, frozen=True):
    """The declaration of one view.

    Attributes:
        name: Stable name, as in ``/view/<name>`` and ``--view NAME``.
        title: For people.
        help: The question it answers, in a sentence.
        scope: ``trace`` views see one trace; ``run`` views every worker of a span (worker name →
            trace); ``pair`` views a baseline and a candidate.
        tables: The tables it makes.
        function: A TraceView, RunView or PairView, by scope.
        group_bys: Values of ``group_by``, the default first; empty when it has none.
        missing_group_bys: For a trace, the groupings that have nothing to group by, and why.
        parameters: What else can be asked of it: the ``PARAMETERS`` of its package.
        missing: For a trace, why the view has nothing to show, or None when it has. Of a ``run``
            view it is called for each worker's trace; one trace without a reason is enough.
        missing_in_run: Of a ``run`` view, for its workers (None: one that is not open), why they
            have nothing to show together, where that does not follow from each worker alone; then
            ``missing`` only says whether one worker alone has it.
        reads_summaries: True for a ``run`` view that answers from the summaries of
            ``loading.ingest.summaries`` too, so that a run of a thousand workers need not be in
            memory.
        accompanied_by: Formats of files beside the traces of a run that a ``run`` view reads as
            further traces, by their addresses (``Importer.accompanies_runs``).
        leading_facts: Keys of the facts that reports show before everything else.
        needs_moments: Whether it is about single calls or when they ran. Of a recording of sums
            (a tree of Proton) it then has nothing (``views.sums_alone``).
        on_pages: False for another layout of the values of other views: the pages do not list it,
            and ``report --view all`` leaves it out.
        by_phase: Whether a phase narrows it (by the masks of ``analysis.selection``); views of time
            ranges ignore it.
        needs_times: Whether it is about times. Of a recording without any (an execution trace) it
            then has nothing; other views show what they count, without times
            (``views.without_times``).
        has_findings: Whether the findings of the detectors are among its notes: for a ``trace``
            view those of the trace, for a ``run`` view those of comparing its workers.
        is_first: For a trace, whether it is the view to show first, as the trace is about nothing
            else; the first view of all where none is.
        sorts_every_table: True when an order that names no table is for every table that has its
            columns; otherwise it is for the first table.
        sort_names: Orders with a name of their own, by name, in the grammar of ``sort``.
        answer: A sentence or two that answer the question of the computed view (``View.answer``),
            from its own tables and facts (``views.answering``); None where there is nothing to say.
            Without it, the answer of the function.
        pair_answer: The same of a ``pair`` view and what its sides are called, baseline first; None
            where they have no names of their own.
        with_third: Of a ``pair`` view, joins that of the candidate and that of a third side, both
            with the same baseline.
        third_group_by: Of these two views, the ``group_by`` that makes their values comparable;
            None where they are.
    """

    name: str
    title: str
    help: str
    scope: Scope
    tables: tuple[TableSpec, ...]
    function: TraceView | RunView | PairView
    group_bys: tuple[str, ...] = ()
    missing_group_bys: Callable[[Trace], Mapping[str, str]] = lambda _trace: {}
    parameters: tuple[Parameter, ...] = ()
    missing: Callable[[Trace], str | None] = lambda _trace: None
    missing_in_run: Callable[[Mapping[str, Trace | None]], str | None] | None = None
    reads_summaries: bool = False
    accompanied_by: tuple[str, ...] = ()
    leading_facts: tuple[str, ...] = ()
    needs_moments: bool = True
    on_pages: bool = True
    by_phase: bool = False
    needs_times: bool = True
    has_findings: bool = False
    is_first: Callable[[Trace], bool] = lambda _trace: False
    sorts_every_table: bool = False
    sort_names: Mapping[str, str] = field(default_factory=dict)
    answer: Callable[[View], str | None] = lambda view: view.answer
    pair_answer: Callable[[View, str | None, str | None], str | None] = lambda view, _a, _b: (
        view.answer
    )
    with_third: Callable[[View, View], View] = lambda view, _third: view
    third_group_by: Callable[[View, View], str | None] = lambda _view, _third: None
