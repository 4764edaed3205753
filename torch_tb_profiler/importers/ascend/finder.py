"""One event of a timeline found again: of a folder in its ``trace_view.json``."""

from __future__ import annotations

from torch_tb_profiler.importers.ascend import is_database
from torch_tb_profiler.importers.ascend.members import database_of, timeline_of
from torch_tb_profiler.importers.kineto import find_event
from torch_tb_profiler.importers.sought import FoundArguments, SearchLimits, SoughtEvent
from torch_tb_profiler.importers.source import AnySource, Folder


def find(source: AnySource, sought: SoughtEvent, limits: SearchLimits) -> FoundArguments | None:
    """The arguments of one event; None where the trace was read from a database, all of whose
    columns are in the trace.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: it unpacks too far.
    """
    if not isinstance(source, Folder):
        if is_database(source.head, source.name):
            return None
        return find_event.find(source, sought, limits)
    timeline = None if database_of(source.files) else timeline_of(source.files)
    return None if timeline is None else find_event.find(source.files[timeline](), sought, limits)
