"""What torch 2.15 writes into the arguments of a graph's kernels: the annotations of their nodes,
each key an argument of its own, its value a text.

Which arguments are annotations is told by what is none: those that profilers write are known, and
but for a few they are no texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from torch_tb_profiler.importers.kineto.structs import (
    COLLECTIVE_FIELDS,
    DEVICE_FIELDS,
    LINK_FIELDS,
    STATED_FIELDS,
)

MAX_KEYS = 32
"""Further keys of one annotation are left out."""

ANNOTATION = STATED_FIELDS["annotation"].key

PROFILER_TEXTS = frozenset(
    {
        "kind",
        "kernel",
        "hsa_queue",
        "Comms Id",
        "Pg Config",
        "In split size",
        "Out split size",
        "Input Tensors start",
        "Output Tensors start",
        "Global rank start",
        "Global rank stride",
        "limiting factors",
        "stream",
        "original_stream",
        "annotated_stream",
    }
)
"""Texts that profilers themselves write into arguments of device work."""

_KNOWN = PROFILER_TEXTS | {
    field.key
    for fields in (LINK_FIELDS, DEVICE_FIELDS, COLLECTIVE_FIELDS, STATED_FIELDS)
    for field in fields.values()
}


def spread_annotations(args: Sequence[Any], raws: Sequence[msgspec.Raw]) -> Mapping[int, str]:
    """Row → annotation as JSON text, of the kernels of graphs that have arguments of their own.

    A node has one annotation however often it runs, so each is read once.
    """
    if not args or not hasattr(args[0], "graph_node"):
        return {}
    read: dict[tuple[Any, Any], str | None] = {}
    found: dict[int, str] = {}
    for row, arg in enumerate(args):
        node = arg.graph_node
        if type(node) is not int or node <= 0:
            continue
        key = (arg.graph if type(arg.graph) is int else None, node)
        if key not in read:
            read[key] = _annotation(raws[row])
        text = read[key]
        if text is not None:
            found[row] = text
    return found


def _annotation(raw: msgspec.Raw) -> str | None:
    try:
        given = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    own = {
        key: value for key, value in given.items() if isinstance(value, str) and key not in _KNOWN
    }
    whole = given.get(ANNOTATION)
    if not own:
        return None
    if whole is not None:
        own[ANNOTATION] = whole
    return json.dumps(dict(list(own.items())[:MAX_KEYS]))
