"""Answer requests for a slice."""

from __future__ import annotations

from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.traces import cut_trace, subject_trace, trace_ref
from torch_tb_profiler.requests.errors import UnknownError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.slices import SliceAnswer
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.slice.details import slice_details


def slice_answer(
    catalog: Catalog, subject: Subject, slice_id: int, wait_s: float | None
) -> SliceAnswer:
    """One slice of the trace that ``subject`` names.

    Raises:
        UnknownError: there is no such slice.
        LoadingError, NotReadyError: as ``queries.traces.subject_trace``.
    """
    file, trace = subject_trace(catalog, subject, wait_s)
    check_slice(trace, slice_id)
    trace = cut_trace(trace, subject.selection)
    return SliceAnswer(trace=trace_ref(file), slice=slice_details(trace, slice_id))


def check_slice(trace: Trace, slice_id: int) -> None:
    """Validate the id of a slice.

    Raises:
        UnknownError: the trace has no such slice.
    """
    count = trace.slices.height
    if slice_id >= count:
        message = f"There is no slice {slice_id}; this trace has {count}."
        raise UnknownError("unknown_slice", message)
