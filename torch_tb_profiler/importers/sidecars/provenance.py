"""Inductor's provenance files: the FX graph nodes and source lines behind each generated kernel.

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
"""Suffix of a kernel name: the index of its call in the generated code."""

MAX_CHARS = 20_000
MAX_NODES = 50
"""Nodes listed per kernel."""

MAX_MAPPED = 1000
"""Nodes looked up per kernel, and origins per node: a malicious mapping could expand to 10^12
names."""

Provenance = dict[str, tuple[dict[str, None], dict[str, None]]]
"""Kernel → its distinct stack traces and nodes, in order."""


def read_provenance(data: bytes, provenance: Provenance) -> None:
    """Add the content of one file to ``provenance``.

    Raises:
        SidecarError: it is not one of these files.
    """
    try:
        content = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise SidecarError(f"not JSON ({str(error)[:100]})") from error
    if not isinstance(content, dict):
        raise SidecarError("it has no kernels")
    if isinstance(content.get("cppCodeToPost"), dict):
        before = content.get("postToPre")
        _add_mapping(
            content["cppCodeToPost"], before if isinstance(before, dict) else {}, provenance
        )
        return
    has_kernel = False
    for kernel, value in content.items():
        if isinstance(value, dict):
            nodes = _texts(value.get("pre_grad_nodes")) or _texts(value.get("post_grad_nodes"))
            _add(provenance, kernel, _texts(value.get("stack_traces")), nodes)
        elif isinstance(value, list):
            _add(provenance, kernel, _texts(value), [])
        has_kernel = has_kernel or isinstance(value, dict | list)
    if content and not has_kernel and "version" not in content:
        raise SidecarError("it has no kernels")


def _add_mapping(kernels: dict[str, Any], before: dict[str, Any], provenance: Provenance) -> None:
    for kernel, nodes in kernels.items():
        after = dict.fromkeys(_texts(nodes)[:MAX_MAPPED])
        names = [name for node in after for name in _texts(before.get(node))[:MAX_MAPPED] or [node]]
        _add(provenance, kernel, [], names)


def _add(provenance: Provenance, kernel: str, stacks: list[str], nodes: list[str]) -> None:
    known_stacks, known_nodes = provenance.setdefault(_HANDLE.sub("", kernel), ({}, {}))
    known_stacks.update(dict.fromkeys(stacks))
    known_nodes.update(dict.fromkeys(nodes))


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def provenance_frame(provenance: Provenance) -> pl.DataFrame:
    """The rows of the side table ``kernel_provenance``."""
    return pl.DataFrame(
        {
            "kernel": list(provenance),
            "stacks": ["\n".join(stacks)[:MAX_CHARS] or None for stacks, _ in provenance.values()],
            "nodes": [
                ", ".join(list(nodes)[:MAX_NODES]) or None for _, nodes in provenance.values()
            ],
        },
        schema=SIDE_SCHEMAS["kernel_provenance"],
    )
