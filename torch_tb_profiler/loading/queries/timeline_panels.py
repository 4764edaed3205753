"""Answer requests of the timeline's panels: content of a range, idle gaps, durations of slices with
one name."""

from __future__ import annotations

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.slices import check_slice
from torch_tb_profiler.loading.queries.timeline import chosen_lanes, whole_range
from torch_tb_profiler.loading.queries.traces import as_bad_parameters, cut_trace, timed_trace
from torch_tb_profiler.requests.timeline import (
    TimelineGapsAnswer,
    TimelineNamesakesAnswer,
    TimelinePathAnswer,
    TimelineRangeAnswer,
)
from torch_tb_profiler.requests.timeline_questions import (
    RangeRequest,
    SliceRequest,
    SummaryRequest,
)
from torch_tb_profiler.requests.views import table_payload
from torch_tb_profiler.views.timeline.idle_gaps import idle_gaps
from torch_tb_profiler.views.timeline.index import timeline
from torch_tb_profiler.views.timeline.namesakes import namesakes
from torch_tb_profiler.views.timeline.path import path_on_timeline
from torch_tb_profiler.views.timeline.range_summary import range_summary


def range_answer(
    catalog: Catalog, request: SummaryRequest, wait_s: float | None
) -> TimelineRangeAnswer:
    """Summary of a range, on all tracks or on some.

    Raises:
        RequestError: the range is empty, or the tracks are not those of the timeline.
        LoadingError, NotReadyError: as ``queries.traces.timed_trace``; so for all functions here.
    """
    shown = timeline(timed_trace(catalog, request.range.subject, wait_s)[1])
    start_ns, end_ns = whole_range(request.range, shown)
    choice = None if request.tracks is None else chosen_lanes(shown, request.tracks)
    summary = range_summary(shown, start_ns, end_ns, choice)
    return TimelineRangeAnswer(
        start_ns=start_ns,
        end_ns=end_ns,
        categories=summary.categories,
        operators=summary.operators,
        python=summary.python,
        kernels=summary.kernels,
        slices=table_payload(summary.slices),
        names_left_out=summary.names_left_out,
        counters=table_payload(summary.counters),
        gpus=summary.gpus,
        gaps=summary.gaps,
        gap_count=summary.gap_count,
    )


def gaps_answer(
    catalog: Catalog, request: RangeRequest, wait_s: float | None
) -> TimelineGapsAnswer:
    """The idle gaps of a range.

    Raises:
        RequestError: the range is empty.
    """
    shown = timeline(timed_trace(catalog, request.subject, wait_s)[1])
    start_ns, end_ns = whole_range(request, shown)
    gaps = idle_gaps(shown, start_ns, end_ns)
    return TimelineGapsAnswer(
        start_ns=start_ns,
        end_ns=end_ns,
        gaps=gaps.gaps,
        count=gaps.count,
        total_us=gaps.total_us,
    )


def namesakes_answer(
    catalog: Catalog, request: SliceRequest, wait_s: float | None
) -> TimelineNamesakesAnswer:
    """Durations of the slices with the same name.

    Raises:
        UnknownError: there is no such slice.
    """
    trace = timed_trace(catalog, request.subject, wait_s)[1]
    check_slice(trace, request.slice)
    return TimelineNamesakesAnswer(slice=request.slice, namesakes=namesakes(trace, request.slice))


def path_answer(
    catalog: Catalog, request: RangeRequest, wait_s: float | None
) -> TimelinePathAnswer:
    """The critical path of the selected steps, or of the step of median length, in a range.

    Raises:
        RequestError: the range is empty, the selection is malformed, or names a missing step.
    """
    trace = timed_trace(catalog, request.subject, wait_s)[1]
    shown = timeline(trace)
    selection = request.subject.selection
    with as_bad_parameters():
        cut = cut_trace(trace, selection)
        path = path_on_timeline(cut, shown, selection, *whole_range(request, shown))
    return TimelinePathAnswer(
        steps=path.steps,
        start_ns=path.start_ns,
        end_ns=path.end_ns,
        pieces=path.pieces,
        count=path.count,
    )
