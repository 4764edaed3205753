"""Files of annotations: what ``get_kernel_annotations()`` of torch answers, as pickle or JSON.

They map the number that CUDA's tools give a node, (graph << 32) | node, to a list of what was said
of it.
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
"""Longer annotations are cut."""

MAX_VALUES = 200
"""Items of one annotation; lists in lists may be far longer than their file."""

MAX_ALL_CHARS = 100_000_000
"""Of all annotations of a file: each of its nodes may name one and the same long text."""


class SidecarError(ValueError):
    """A file beside a trace that cannot be read; tells why, for people."""


def read_annotations(data: bytes, name: str) -> pl.DataFrame:
    """The rows of the side table ``graph_annotations``.

    Args:
        data: The content of the file.
        name: Its name, whose ending tells pickle from JSON.

    Raises:
        BesideError: it is no such file.
    """
    try:
        told = msgspec.json.decode(data) if name.endswith(".json") else read_plain(data)
    except (NotPlainDataError, msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise SidecarError(str(error)[:200]) from error
    if not isinstance(told, dict):
        raise SidecarError("it maps no nodes to annotations")
    kept = list(_kept(told))
    if told and not kept:
        raise SidecarError("it maps no nodes to annotations")
    mask = (1 << NODE_BITS) - 1
    return pl.DataFrame(
        {
            "graph": [number >> NODE_BITS for number, _ in kept],
            "node": [number & mask for number, _ in kept],
            "annotation": [text for _, text in kept],
        },
        schema=SIDE_SCHEMAS["graph_annotations"],
    )


def _kept(told: dict[Any, Any]) -> Iterator[tuple[int, str]]:
    """The numbers of nodes and what was said of each.

    Raises:
        BesideError: it is far more than is said of graphs.
    """
    chars = 0
    for key, value in told.items():
        number = _number(key)
        text = None if number is None else _text(value)
        if number is not None and text:
            chars += len(text)
            if chars > MAX_ALL_CHARS:
                raise SidecarError("its annotations are longer than any of graphs")
            yield number, text


def _number(key: Any) -> int | None:
    """The number of a node; JSON has it as text."""
    if isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 20:
        key = int(key)
    is_number = isinstance(key, int) and not isinstance(key, bool) and 0 < key < 2**63
    return key if is_number else None


def _text(value: Any) -> str | None:
    """What was said of a node as JSON; None of what has no such form."""
    budget = [MAX_VALUES]
    try:
        text = json.dumps(_bounded(value, budget), default=str)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= MAX_CHARS else json.dumps(text[:MAX_CHARS])


def _bounded(value: Any, budget: list[int]) -> Any:
    """A copy of a value with so many items at most."""
    budget[0] -= 1
    if budget[0] < 0:
        return None
    if isinstance(value, dict):
        items = _few(value.items(), budget)
        return {str(key)[:MAX_CHARS]: _bounded(each, budget) for key, each in items}
    if isinstance(value, list | tuple):
        return [_bounded(each, budget) for each in _few(value, budget)]
    if isinstance(value, str):
        return value[:MAX_CHARS]
    is_plain = value is None or isinstance(value, bool | float)
    return value if is_plain or (isinstance(value, int) and abs(value) < 2**64) else None


def _few(values: Any, budget: list[int]) -> Any:
    return islice(values, max(budget[0], 0))
