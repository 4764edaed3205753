"""Inductor's provenance files: which nodes of the model's graph, and which lines of the program, a
generated kernel computes.

Kinds of files (torch 2.13): ``inductor_provenance_tracking_node_mappings.json`` (version 2.0:
``cppCodeToPost`` maps kernels to nodes after autograd, ``postToPre`` these to nodes before it),
``inductor_provenance_tracking_kernel_stack_traces.json`` (kernel → stack traces) and
``kernel_information.json`` (kernel → stack_traces, post_grad_nodes, pre_grad_nodes).
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import polars as pl

from torch_tb_profiler.importers.sidecars.annotations import SidecarError
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

_HANDLE = re.compile(r":\d+$")
"""Behind the name of a kernel: the number of its call in the generated code."""

MAX_CHARS = 20_000
MAX_NODES = 50
"""Nodes of one kernel that are named."""

MAX_MAPPED = 1000
"""Nodes of a kernel that are looked up, and nodes that each of these comes from: a mapping could
name the same ones a million times a million times."""

Known = dict[str, tuple[dict[str, None], dict[str, None]]]
"""Kernel → its stack traces and its nodes, each once, in order."""


def read_provenance(data: bytes, known: Known) -> None:
    """Add what one of the files tells.

    Raises:
        BesideError: it is none of them.
    """
    try:
        told = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise SidecarError(f"no JSON ({str(error)[:100]})") from error
    if not isinstance(told, dict):
        raise SidecarError("it holds no kernels")
    if isinstance(told.get("cppCodeToPost"), dict):
        before = told.get("postToPre")
        _add_mapping(told["cppCodeToPost"], before if isinstance(before, dict) else {}, known)
        return
    is_any = False
    for kernel, of in told.items():
        if isinstance(of, dict):
            nodes = _texts(of.get("pre_grad_nodes")) or _texts(of.get("post_grad_nodes"))
            _add(known, kernel, _texts(of.get("stack_traces")), nodes)
        elif isinstance(of, list):
            _add(known, kernel, _texts(of), [])
        is_any = is_any or isinstance(of, dict | list)
    if told and not is_any and "version" not in told:
        raise SidecarError("it holds no kernels")


def _add_mapping(kernels: dict[str, Any], before: dict[str, Any], known: Known) -> None:
    for kernel, nodes in kernels.items():
        after = dict.fromkeys(_texts(nodes)[:MAX_MAPPED])
        names = [name for node in after for name in _texts(before.get(node))[:MAX_MAPPED] or [node]]
        _add(known, kernel, [], names)


def _add(known: Known, kernel: str, stacks: list[str], nodes: list[str]) -> None:
    own_stacks, own_nodes = known.setdefault(_HANDLE.sub("", kernel), ({}, {}))
    own_stacks.update(dict.fromkeys(stacks))
    own_nodes.update(dict.fromkeys(nodes))


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def provenance_frame(known: Known) -> pl.DataFrame:
    """The rows of the side table ``kernel_provenance``."""
    return pl.DataFrame(
        {
            "kernel": list(known),
            "stacks": ["\n".join(stacks)[:MAX_CHARS] or None for stacks, _ in known.values()],
            "nodes": [", ".join(list(nodes)[:MAX_NODES]) or None for _, nodes in known.values()],
        },
        schema=SIDE_SCHEMAS["kernel_provenance"],
    )
