"""Names of sidecar files, and the kind, rank and batch size in them.

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
"""Folders of capture traces; every trace in them is one."""

SidecarKind = Literal["annotations", "capture", "provenance"]

DETAILS = "execution_details.json"
"""The file with the batch size and mode of the captures in a folder."""

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
    """The kind of a file, by its name; None if it is not a sidecar.

    Args:
        name: Its base name.
        in_captures: Whether it is in one of :data:`CAPTURE_FOLDERS`.
    """
    if in_captures:
        return "capture" if _TRACE.fullmatch(name) and name != DETAILS else None
    if _ANNOTATIONS.fullmatch(name):
        return "annotations"
    if _PROVENANCE.fullmatch(name):
        return "provenance"
    return "capture" if _CAPTURE.fullmatch(name) else None


def rank_of(name: str) -> int | None:
    """The rank in a file name; None without one."""
    match = _RANK.search(name)
    return int(next(group for group in match.groups() if group)) if match else None


def batch_of(name: str) -> int | None:
    """The batch size in the name of a capture; None without one."""
    match = _BATCH.match(name)
    return int(match[1]) if match else None


def select_rank(names: Iterable[str], rank: int | None) -> list[str]:
    """The files of one rank and those without a rank.

    Where ``rank`` is None and the names have only one rank, that one is selected.
    """
    ranks = {name: rank_of(name) for name in names}
    known = {each for each in ranks.values() if each is not None}
    if rank is None and len(known) == 1:
        rank = known.pop()
    return [name for name, each in ranks.items() if each is None or each == rank]
