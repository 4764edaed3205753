"""Compute a view of two recordings, or of three: one of them with each of the others."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from torch_tb_profiler.analysis.operators.key_operators import key_operator_instances
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.split import UnknownKeyNodeError, split_iterations
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.queries.view_checks import (
    check_available,
    drop_unsupported_phase,
    with_leading_notes,
    with_names,
)
from torch_tb_profiler.requests.errors import RequestError, UnknownError, unknown
from torch_tb_profiler.requests.questions import Subject, ViewRequest
from torch_tb_profiler.requests.side_names import side_names
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.cut_notes import cut_notes_of_sides
from torch_tb_profiler.views.device_words import missing_reason_of
from torch_tb_profiler.views.schema import View
from torch_tb_profiler.views.spec import PairView, ViewSpec


def pair_of_request(
    catalog: Catalog, spec: ViewSpec, request: ViewRequest, wait_s: float | None
) -> ViewResult:
    """The pair view of a request, with its third side.

    Raises:
        RequestError: there is no baseline, or a side has no data for the view.
        UnknownError, OpenError, NotReadyError: as ``queries.views.view_result``.
    """
    if request.baseline is None:
        hint = (
            "Give baseline_run, and baseline_worker and baseline_span where there are several; "
            "in Python, baseline=open_trace(…)."
        )
        raise RequestError("missing_parameter", f"{spec.title} needs a baseline.", hint)
    subjects = [request.baseline, request.subject, *filter(None, [request.third])]
    files = [
        catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
        for subject in subjects
    ]
    traces = open_traces(catalog, files, wait_s)
    named = [with_names(*each) for each in zip(subjects, files, strict=True)]
    views = _pairs(spec, traces, named)
    group_by = spec.third_group_by(*views) if request.third is not None else None
    if group_by is not None:
        named = [_grouped_by(each, group_by) for each in named]
        views = _pairs(spec, traces, named)
    view, *others = views
    for other in others:
        view = spec.with_third(view, other)
    return ViewResult(spec, view, named[1], named[0], *named[2:])


def _pairs(spec: ViewSpec, traces: list[Trace], named: list[Subject]) -> list[View]:
    """The views of the first side with each of the others."""
    return [
        with_pair_answer(
            spec,
            pair_view(spec, traces[0], named[0].selection, trace, subject.selection),
            named[0],
            subject,
        )
        for trace, subject in zip(traces[1:], named[1:], strict=True)
    ]


def _grouped_by(subject: Subject, group_by: str) -> Subject:
    return replace(subject, selection=replace(subject.selection, group_by=group_by))


def with_pair_answer(spec: ViewSpec, view: View, baseline: Subject, candidate: Subject) -> View:
    """``view`` with its answer, which names the sides."""
    return replace(view, answer=spec.pair_answer(view, *side_names(baseline, candidate)))


def pair_view(
    spec: ViewSpec,
    baseline: Trace,
    baseline_selection: Selection,
    candidate: Trace,
    selection: Selection,
) -> View:
    """A ``pair`` view of two open traces.

    Raises:
        RequestError: one of them has nothing for it; the message says which.
        UnknownError: one of them has no such key node; the message says which.
        SelectionError: as the view.
    """
    baseline = _cut_side(baseline, baseline_selection, "baseline")
    candidate = _cut_side(candidate, selection, "candidate")
    for side, trace in (("baseline", baseline), ("candidate", candidate)):
        if (reason := missing_reason_of(spec, trace)) is not None:
            check_available(spec, [f"{reason} That is the {side}."])
    baseline_selection, phase_notes = drop_unsupported_phase(spec, baseline_selection)
    selection, candidate_phase_notes = drop_unsupported_phase(spec, selection)
    function = cast(PairView, spec.function)
    view = function(baseline, baseline_selection, candidate, selection)
    return with_leading_notes(
        view, (phase_notes or candidate_phase_notes) + cut_notes_of_sides(baseline, candidate)
    )


def _cut_side(trace: Trace, selection: Selection, side: str) -> Trace:
    try:
        return split_iterations(trace, selection.iterations_by, key_operator_instances)
    except UnknownKeyNodeError as error:
        problem = unknown("key_node", error.name, error.known).problem
        message = f"{problem.message.removesuffix('.')} in the {side}."
        raise UnknownError(problem.code, message, problem.hint) from error
