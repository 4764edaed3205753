"""Answer which arguments the slices of a file have, and choose which of them are read."""

from __future__ import annotations

import errno

from torch_tb_profiler.analysis.recording.arguments import argument_keys
from torch_tb_profiler.importers.argument_names import ArgumentListing, ListingLimits
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.registry import importer_of
from torch_tb_profiler.importers.source import source_of
from torch_tb_profiler.knowledge.arguments import is_secret
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.loading.queries.traces import subject_trace, trace_ref
from torch_tb_profiler.requests.argument_names import ArgumentNamesAnswer, ArgumentPayload
from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.requests.runs import OpenAnswer
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError, changed_error, from_os_error
from torch_tb_profiler.storage.locations import file_state
from torch_tb_profiler.trace.model import Trace

LIMITS = ListingLimits(text_bytes=256 << 20, seconds=10.0)
"""How much of a file is looked at."""

MAX_REMOTE_BYTES = 256 << 20
"""Maximum size of a remote file that is downloaded to list its arguments."""


def argument_names_answer(
    catalog: Catalog, subject: Subject, *, wait_s: float | None = 0.0
) -> ArgumentNamesAnswer:
    """The arguments of a trace and of its file.

    Raises:
        LoadingError, NotReadyError: as ``queries.traces.subject_trace``.
    """
    file, trace = subject_trace(catalog, subject, wait_s)
    listing = _listing(file)
    problem = listing if isinstance(listing, Problem) else None
    known = listing if isinstance(listing, ArgumentListing) else None
    return ArgumentNamesAnswer(
        trace=trace_ref(file),
        arguments=_payloads(trace, known),
        slices=0 if known is None else known.slice_count,
        is_sample=known is not None and known.is_sample,
        can_read=listing is not None,
        problem=problem,
    )


def read_arguments_answer(
    catalog: Catalog, subject: Subject, names: tuple[str, ...], *, wait_s: float | None = 0.0
) -> OpenAnswer:
    """The span of a file of which these arguments are read from now on; none for no names.

    Raises:
        UnknownError: there is no such span.
        NotReadyError: the scan is not complete in time.
    """
    file = catalog.file(subject.run, subject.worker, subject.span, wait_s=wait_s)
    file = catalog.read_arguments(file, names)
    return OpenAnswer(run=file.run, worker=file.worker, span=file.span)


def _listing(file: SpanFile) -> ArgumentListing | Problem | None:
    """What the file has; why that is unknown; None for formats that are not read on request."""
    location = file.location
    try:
        state = file_state(location)
        if location.filesystem is not None and state.size_bytes > MAX_REMOTE_BYTES:
            most = MAX_REMOTE_BYTES >> 20
            message = f"{location.url} is remote and larger than the {most} MiB that are read."
            return Problem("too_far", message, "Name the arguments: --arguments NAME,NAME.")
        source = source_of(location, state)
        return importer_of(source).list_arguments(source, is_secret, LIMITS)
    except (StorageError, TraceFormatError) as error:
        return Problem.of(error)
    except UnpackLimitError as error:
        return Problem("unpacks_too_far", f"{location.url} {error.reason}", error.hint)
    except OSError as error:
        if error.errno == errno.ESTALE:
            return Problem.of(changed_error(location.url))
        return Problem.of(from_os_error(error, location.url))


def _payloads(trace: Trace, listing: ArgumentListing | None) -> list[ArgumentPayload]:
    of_trace = {key.name: key for key in argument_keys(trace)}
    payloads = []
    if listing is not None:
        payloads = [
            ArgumentPayload(
                name=name,
                count=sample.count,
                numbers=sample.numbers,
                example=sample.example,
                categories=sample.categories,
                in_model=name in listing.in_model,
                is_read=name in of_trace,
            )
            for name, sample in listing.arguments.items()
        ]
    listed = {payload.name for payload in payloads}
    payloads += [
        ArgumentPayload(
            name=key.name,
            count=key.numbers + key.texts,
            numbers=key.numbers,
            example=None,
            categories={},
            in_model=False,
            is_read=True,
        )
        for key in of_trace.values()
        if key.name not in listed
    ]
    return sorted(payloads, key=lambda each: (-each.count, each.name))
