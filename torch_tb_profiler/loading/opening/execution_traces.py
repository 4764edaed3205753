"""Execution traces in the folder of a local trace, joined to it when it is opened.

``ExecutionTraceObserver`` writes what each operator read and returned, with the ids that the
profiler writes as ``Record function id`` while it runs. As with sidecar files, the cached trace is
that of its own file. Definitions: ``docs/format-execution.md#beside-a-trace``.
"""

from __future__ import annotations

import logging
import os
from contextlib import closing

from msgspec.structs import replace

from torch_tb_profiler.budget import UNLIMITED
from torch_tb_profiler.importers.execution import FORMAT, is_companion_name
from torch_tb_profiler.importers.execution.chakra_nodes import ChakraNodes
from torch_tb_profiler.importers.execution.columns import NodeColumns
from torch_tb_profiler.importers.execution.json_nodes import JsonNodes
from torch_tb_profiler.importers.execution.messages import begins_chakra
from torch_tb_profiler.importers.sidecars.names import select_rank
from torch_tb_profiler.importers.source import Source
from torch_tb_profiler.loading.opening.execution_join import (
    ExecutionMatch,
    join_match,
    match_execution,
)
from torch_tb_profiler.loading.opening.neighbours import names_in, rank_of_trace
from torch_tb_profiler.storage.decompress import UnpackLimitError
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import Location, file_state, read_chunks
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.quality import QualityReport

_LOGGER = logging.getLogger(__name__)

MAX_READ = 4
"""Execution traces that are read for one trace."""

JOINED, REFUSED, UNREAD = "execution_joined", "execution_refused", "beside_unread"


def join_execution_trace(trace: Trace, location: Location) -> Trace:
    """``trace`` with the execution trace of its process.

    Args:
        trace: The trace, from which nothing was derived yet.
        location: Its file.

    Returns:
        The trace; unchanged if there is none, if it is not local, or if its operators have no
        record function ids.
    """
    is_local = location.filesystem is None and not location.is_folder
    if not is_local or trace.meta.format == FORMAT.name or not has_ids(trace):
        return trace
    try:
        names = _names(trace, location)
        return _joined(trace, location, names) if names else trace
    except Exception:
        _LOGGER.exception("execution traces beside %s were not joined", location.url)
        return trace


def has_ids(trace: Trace) -> bool:
    """Whether operators have record function ids other than 0: an observer ran."""
    return bool((trace.operators["record_function_id"] > 0).any())


def _names(trace: Trace, location: Location) -> list[str]:
    """The execution traces in the folder that may be of the trace's rank."""
    folder, own = os.path.split(location.path)
    names = [name for name in names_in(folder) if name != own and is_companion_name(name)]
    return select_rank(names, rank_of_trace(trace, own))


def _joined(trace: Trace, location: Location, names: list[str]) -> Trace:
    quality = QualityReport(dict(trace.quality.counts), dict(trace.quality.examples))
    best: ExecutionMatch | None = None
    for name in names[:MAX_READ]:
        try:
            columns = _read(location, name)
        except (StorageError, UnpackLimitError, OSError) as error:
            reason = getattr(error, "code", type(error).__name__)
            quality.add(UNREAD, 1, f"{name}: cannot be read ({reason})")
            continue
        match = match_execution(trace, columns, name)
        if not match.is_of_trace:
            quality.add(REFUSED, 1, f"{name}: {match.described}")
        elif best is None or match.operators > best.operators:
            best = match
    if best is None:
        return trace if quality == trace.quality else _with(trace, quality)
    quality.add(JOINED, best.operators, f"{best.name}: {best.described}")
    return _with(join_match(trace, best), quality)


def _with(trace: Trace, quality: QualityReport) -> Trace:
    return replace(trace, quality=quality)


def _read(location: Location, name: str) -> NodeColumns:
    """The nodes of a file; the first ones of a file that exceeds the limits.

    Raises:
        StorageError, OSError, UnpackLimitError: it cannot be read.
    """
    path = os.path.join(os.path.dirname(location.path), name)
    other = replace(location, url=path, path=path, variant="")
    quality = QualityReport()
    columns = NodeColumns(quality)
    source = Source(name, read_chunks(other, state=file_state(other)), path=path)
    most_bytes = UNLIMITED.count("all_side_file_bytes")
    with closing(source):
        is_chakra = begins_chakra(source.head)
        with closing(source.unpacked()) as chunks:
            nodes = ChakraNodes(chunks, quality) if is_chakra else JsonNodes(chunks, quality)
            for number, node in enumerate(nodes):
                columns.add(node)
                if number % 1000 == 0 and (
                    source.is_over_time()
                    or source.is_full(number + columns.tensor_count)
                    or source.budget.unpacked_bytes > most_bytes
                ):
                    break
    return columns
