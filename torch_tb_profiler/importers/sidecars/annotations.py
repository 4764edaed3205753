"""Annotations of graph nodes: the result of torch's ``get_kernel_annotations()``, pickle or JSON.

They map the id that CUDA's tools give a node, (graph << 32) | node, to a list of annotations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import polars as pl

from torch_tb_profiler.importers.sidecars.plain_pickle import NotPlainDataError, read_plain
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

NODE_BITS = 32
MAX_CHARS = 2000
"""Longer annotations are truncated."""

MAX_VALUES = 200
"""Items of one annotation; nested lists may expand far beyond the size of their file."""

MAX_ALL_CHARS = 100_000_000
"""All annotations of a file: every node may refer to the same long text."""


class SidecarError(ValueError):
    """A sidecar file cannot be read; the message says why."""


def read_annotations(data: bytes, name: str) -> pl.DataFrame:
    """The rows of the side table ``graph_annotations``.

    Args:
        data: The content of the file.
        name: Its name; ``.json`` is JSON, anything else a pickle.

    Raises:
        SidecarError: it is not such a file.
    """
    try:
        content = msgspec.json.decode(data) if name.endswith(".json") else read_plain(data)
    except (NotPlainDataError, msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise SidecarError(str(error)[:200]) from error
    if not isinstance(content, dict):
        raise SidecarError("it maps no nodes to annotations")
    annotations = list(_annotations(content))
    if content and not annotations:
        raise SidecarError("it maps no nodes to annotations")
    mask = (1 << NODE_BITS) - 1
    return pl.DataFrame(
        {
            "graph": [number >> NODE_BITS for number, _ in annotations],
            "node": [number & mask for number, _ in annotations],
            "annotation": [text for _, text in annotations],
        },
        schema=SIDE_SCHEMAS["graph_annotations"],
    )


def _annotations(content: dict[Any, Any]) -> Iterator[tuple[int, str]]:
    """Ids and annotations of nodes.

    Raises:
        SidecarError: they are implausibly long.
    """
    chars = 0
    for key, value in content.items():
        number = _number(key)
        text = None if number is None else _text(value)
        if number is not None and text:
            chars += len(text)
            if chars > MAX_ALL_CHARS:
                raise SidecarError("its annotations are longer than those of any graph")
            yield number, text


def _number(key: Any) -> int | None:
    """The id of a node; in JSON it is a text."""
    if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 20:
        key = int(key)
    is_number = isinstance(key, int) and not isinstance(key, bool) and 0 < key < 2**63
    return key if is_number else None


def _text(value: Any) -> str | None:
    """The annotation as JSON; None if it cannot be encoded."""
    budget = [MAX_VALUES]
    try:
        text = json.dumps(_bounded(value, budget), default=str)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= MAX_CHARS else json.dumps(text[:MAX_CHARS])


def _bounded(value: Any, budget: list[int]) -> Any:
    """A copy of a value with at most ``budget[0]`` items."""
    budget[0] -= 1
    if budget[0] < 0:
        return None
    if isinstance(value, dict):
        items = _first_items(value.items(), budget)
        return {str(key)[:MAX_CHARS]: _bounded(each, budget) for key, each in items}
    if isinstance(value, list | tuple):
        return [_bounded(each, budget) for each in _first_items(value, budget)]
    if isinstance(value, str):
        return value[:MAX_CHARS]
    is_plain = value is None or isinstance(value, bool | float)
    return value if is_plain or (isinstance(value, int) and abs(value) < 2**64) else None


def _first_items(values: Any, budget: list[int]) -> Any:
    return islice(values, max(budget[0], 0))
