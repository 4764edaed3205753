"""How recordings are called: ``RUN``, ``RUN/WORKER`` or ``RUN/WORKER/SPAN``, as text.

Names are those of the catalog, never paths: what is not in it cannot be named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch_tb_profiler.loading.catalog import Catalog, Contents
from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.mcp.answer_text import quoted
from torch_tb_profiler.mcp.context import ToolContext
from torch_tb_profiler.requests.errors import OpenError, unknown
from torch_tb_profiler.requests.runs import SpanStatus
from torch_tb_profiler.storage.discovery import SpanFile
from torch_tb_profiler.storage.errors import StorageError

MAX_PART = 200
"""Characters of a name of a run, worker or span; a longer one is called by its shortened form."""


def all_files(context: ToolContext) -> list[SpanFile]:
    """Every recording, in order, once the log directories are scanned.

    Raises:
        OpenError: there is none.
        RequestError: scanning takes too long.
    """
    contents = context.when_ready(lambda wait_s: _scanned(context.catalog, wait_s))
    return _files(contents)


def files_named(context: ToolContext, trace: str) -> list[SpanFile]:
    """The recordings that ``trace`` names, in order; all for an empty name.

    Raises:
        UnknownError: there is none.
        OpenError, RequestError: as :func:`all_files`.
    """
    files = all_files(context)
    matching = _matching(files, trace)
    if not matching:  # it may be new
        files = _files(context.catalog.refresh())
        matching = _matching(files, trace)
    if not matching:
        raise unknown("trace", trace, _known(files))
    return matching


def file_named(context: ToolContext, trace: str) -> SpanFile:
    """The first of the recordings that ``trace`` names.

    Raises:
        UnknownError, OpenError, RequestError: as :func:`files_named`.
    """
    return files_named(context, trace)[0]


def whole_name(file: SpanFile) -> str:
    """``RUN/WORKER/SPAN`` of a recording, as answers print it and arguments take it."""
    return "/".join(_parts(file))


def shortest_names(files: Sequence[SpanFile]) -> list[str]:
    """The shortest name of each of all recordings that names it alone."""
    parts = [_parts(file) for file in files]
    counts = [Counter(part[:length] for part in parts) for length in (1, 2)]
    names = []
    for part in parts:
        length = next((n for n in (1, 2) if counts[n - 1][part[:n]] == 1), 3)
        names.append("/".join(part[:length]))
    return names


def _parts(file: SpanFile) -> tuple[str, ...]:
    names = (file.run or ".", file.worker, file.span)
    return tuple(quoted(name, MAX_PART) for name in names)


def _matching(files: Sequence[SpanFile], trace: str) -> list[SpanFile]:
    """A run of the name goes before a worker, and a worker before a span: names hold slashes."""
    wanted = trace.strip().removesuffix("/")
    if not wanted:
        return list(files)
    for length in (1, 2, 3):
        matching = [file for file in files if "/".join(_parts(file)[:length]) == wanted]
        if matching:
            return matching
    return []


def _known(files: Sequence[SpanFile]) -> list[str]:
    """Names that may have been meant, the short ones first."""
    parts = [_parts(file) for file in files]
    return list(dict.fromkeys("/".join(part[:length]) for length in (1, 2, 3) for part in parts))


def _scanned(catalog: Catalog, wait_s: float) -> Contents:
    contents = catalog.contents(wait_s)
    if catalog.discovering:
        raise NotReadyError(SpanStatus("", "", None, 0, "queued"))
    return contents


def _files(contents: Contents) -> list[SpanFile]:
    files = contents.files()
    if not files:
        problem = contents.problem or StorageError("no_traces", "There is no trace.")
        raise OpenError.of(problem)
    return files
