"""Names of files that stand beside a trace, and what they tell: the kind, the rank, the batch size.

Sources of the names: torch's ``_annotate_cuda_graph_trace`` (``kernel_annotations_rank0_….pkl``),
vLLM (``graph_capture_rank_0.….pt.trace.json.gz``), SGLang (``bs_8_rank0.json.gz``,
``cuda_graph_capture-DecodeCudaGraphRunner-TP-0.json.gz``), xDiT (``capture_trace_rank_0.json.gz``),
Inductor (``inductor_provenance_tracking_node_mappings.json``, ``kernel_information.json``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from torch_tb_profiler.storage.names import GRAPH_CAPTURE_FOLDERS

CAPTURE_FOLDERS = GRAPH_CAPTURE_FOLDERS
"""Folders in which captures lie; any trace there is one."""

SidecarKind = Literal["annotations", "capture", "provenance"]

DETAILS = "execution_details.json"
"""Says which batch size and mode the captures of a folder are of."""

_ANNOTATIONS = re.compile(r"(kernel|graph)_annotations?.*\.(pkl|pickle|json)")
_CAPTURE = re.compile(r"((cuda_)?graph_capture|capture(_trace)?_rank|bs_\d+_rank).*\.json(\.gz)?")
_TRACE = re.compile(r".*\.json(\.gz)?")
_PROVENANCE = re.compile(
    r"inductor_provenance_tracking_(node_mappings|kernel_stack_traces)\w*\.json"
    r"|(\w+_)?kernel_information(_\d+)?\.json"
)
_RANK = re.compile(r"rank[_-]?(\d{1,6})|[-_]TP-?(\d{1,6})|^(\d{1,6})\.", re.IGNORECASE)
_BATCH = re.compile(r"bs_(\d{1,9})")


def sidecar_kind(name: str, *, in_captures: bool) -> SidecarKind | None:
    """What a file of this name is, None for none; ``in_captures`` in a folder of captures."""
    if in_captures:
        return "capture" if _TRACE.fullmatch(name) and name != DETAILS else None
    if _ANNOTATIONS.fullmatch(name):
        return "annotations"
    if _PROVENANCE.fullmatch(name):
        return "provenance"
    return "capture" if _CAPTURE.fullmatch(name) else None


def rank_of(name: str) -> int | None:
    """The rank that a name tells."""
    found = _RANK.search(name)
    return int(next(group for group in found.groups() if group)) if found else None


def batch_of(name: str) -> int | None:
    """The batch size that the name of a capture tells."""
    found = _BATCH.match(name)
    return int(found[1]) if found else None


def of_rank(names: Iterable[str], rank: int | None) -> list[str]:
    """Those files that are of a rank, or of none; where the rank is not known, those of the only
    one there is."""
    ranks = {name: rank_of(name) for name in names}
    known = {each for each in ranks.values() if each is not None}
    if rank is None and len(known) == 1:
        rank = known.pop()
    return [name for name, each in ranks.items() if each is None or each == rank]
