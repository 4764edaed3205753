"""The file of nodes and switches beside the recordings of a run, joined to all of them.

It belongs to the run, not to a rank: it is read when the ranks of a run are gathered, and is in no
cached trace or summary. Definitions: ``docs/views-ranks.md#where-ranks-ran``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from torch_tb_profiler.analysis.ranks.locations import rank_topology
from torch_tb_profiler.importers.sidecars.annotations import SidecarError
from torch_tb_profiler.importers.sidecars.topology import (
    MAX_BYTES,
    TOPOLOGY_NAMES,
    read_topology,
)
from torch_tb_profiler.storage.trace_files import SpanFile
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.rank_topology import NO_TOPOLOGY, RankTopology


def join_topology(files: Iterable[SpanFile], traces: Iterable[Trace]) -> None:
    """Provide the traces of a run with its nodes and switches, if a local file states them: in the
    folder of the first recording, or else in the one above it, in which runs lie."""
    local = next((file.location for file in files if file.location.filesystem is None), None)
    topology = NO_TOPOLOGY if local is None else _topology_near(os.path.dirname(local.path))
    for trace in traces:
        if topology is not NO_TOPOLOGY or rank_topology.is_computed(trace):
            rank_topology.provide(trace, topology)


def _topology_near(folder: str) -> RankTopology:
    for above in (folder, os.path.join(folder, os.pardir)):
        for name in TOPOLOGY_NAMES:
            path = os.path.join(above, name)
            if os.path.isfile(path):
                return _read(path, name)
    return NO_TOPOLOGY


def _read(path: str, name: str) -> RankTopology:
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise SidecarError("it is too large")
        return read_topology(data, name)
    except OSError as error:
        return RankTopology(name, problem=f"it cannot be read ({type(error).__name__})")
    except SidecarError as error:
        return RankTopology(name, problem=str(error))
