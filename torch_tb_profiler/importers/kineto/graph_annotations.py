"""Annotations of graph nodes that torch >= 2.15 writes into the arguments of a graph's kernels.

Each key of an annotation is a separate argument with a text value. They are recognized by
exclusion: the arguments that profilers write are known, and only a few of those are texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from torch_tb_profiler.importers.kineto.decoded import DecodedArguments
from torch_tb_profiler.importers.kineto.structs import PROFILER_KEYS, STATED_FIELDS

MAX_KEYS = 32
"""Further keys of an annotation are dropped."""

ANNOTATION = STATED_FIELDS["annotation"].key


def node_annotations(args: DecodedArguments) -> Mapping[int, str]:
    """Row → annotation as JSON text, of kernels in graphs.

    A node has the same annotation in every run, so each is decoded once.
    """
    if not args.has_field("graph_node"):
        return {}
    may_be_annotated = args.rows_with("graph_node") & args.rows_with_other_texts()
    rows = np.flatnonzero(may_be_annotated).tolist()
    by_node: dict[tuple[Any, Any], str | None] = {}
    annotations: dict[int, str] = {}
    nodes = zip(rows, args.values("graph", rows), args.values("graph_node", rows), strict=True)
    for row, graph, node in nodes:
        if type(node) is not int or node <= 0:
            continue
        key = (graph if type(graph) is int else None, node)
        if key not in by_node:
            by_node[key] = _annotation(args.raws([row])[0])
        text = by_node[key]
        if text is not None:
            annotations[row] = text
    return annotations


def _annotation(raw: msgspec.Raw) -> str | None:
    try:
        given = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    annotation = {
        key: value
        for key, value in given.items()
        if isinstance(value, str) and key not in PROFILER_KEYS
    }
    whole = given.get(ANNOTATION)
    if not annotation:
        return None
    if whole is not None:
        annotation[ANNOTATION] = whole
    return json.dumps(dict(list(annotation.items())[:MAX_KEYS]))
