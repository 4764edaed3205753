"""JSON of PyTorch's ``ExecutionTraceObserver`` → nodes, in pieces; damage costs the damaged nodes.

Schemas: 1.0.1 has flat nodes (``parent``, ``input_shapes``, ``rf_id``), 1.0.2 and later
``ctrl_deps``, ``inputs`` as objects and ``attrs`` as lists of names and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from torch_tb_profiler.importers.execution.nodes import (
    ExecutionNode,
    NodeValues,
    as_integer,
)
from torch_tb_profiler.once import set_up
from torch_tb_profiler.trace.columns import ABSENT
from torch_tb_profiler.trace.quality import QualityReport

PIECE_BYTES = 4 << 20
MAX_HEADER_BYTES = 1 << 20
MAX_NODE_BYTES = 64 << 20
"""A longer node is left out, so that memory stays bounded."""

_NODES_KEY = re.compile(rb'"nodes"\s*:\s*\[')
_NODE = re.compile(
    rb'\{\s*(?:"(?:id|attrs|ctrl_deps|fw_parent)"\s*:'
    rb'|"name"\s*:\s*"(?:[^"\\]|\\.){0,4000}"\s*,\s*"id"\s*:)'
)
"""How a node begins, its keys in the order of the observer or sorted: an attribute is
``{"name": …, "type": …}``."""

_HEADER_VALUE = re.compile(rb'"(schema|pid)"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?\d{1,18})')
_FLAT = ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid", "op_schema")


class _Node(msgspec.Struct, gc=False):
    id: Any = None
    name: Any = None
    parent: Any = None
    ctrl_deps: Any = None
    inputs: Any = None
    outputs: Any = None
    attrs: Any = None
    input_shapes: Any = None
    input_types: Any = None
    output_shapes: Any = None
    output_types: Any = None
    rf_id: Any = None
    fw_parent: Any = None
    seq_id: Any = None
    scope: Any = None
    tid: Any = None
    fw_tid: Any = None
    op_schema: Any = None


class JsonNodes:
    """Iterates over the nodes of a file.

    Attributes:
        schema: The version of the schema as written, ``"1.1.1-chakra.0.0.4"``; None without one.
        pid: The process; None without one.
        has_nodes: Whether the file has a list of nodes.
    """

    def __init__(self, chunks: Iterable[bytes], quality: QualityReport) -> None:
        """Read the header.

        Args:
            chunks: The text of the file.
            quality: Counts damaged nodes and a truncated file.
        """
        self._chunks = iter(chunks)
        self._quality = quality
        header = bytearray()
        match = None
        for chunk in self._chunks:
            header += chunk
            match = _NODES_KEY.search(header)
            if match is not None or len(header) > MAX_HEADER_BYTES:
                break
        self.has_nodes = match is not None
        at = len(header) if match is None else match.end()
        self._start = bytes(header[at:])
        values = dict(_HEADER_VALUE.findall(bytes(header[:at])))
        self.schema, self.pid = (_text(values.get(key)) for key in (b"schema", b"pid"))

    def __iter__(self) -> Iterator[ExecutionNode]:
        buffer = self._start
        for chunk in self._chunks:
            buffer += chunk
            if len(buffer) < PIECE_BYTES:
                continue
            starts = [match.start() for match in _NODE.finditer(buffer)]
            if len(starts) > 1:
                yield from self._decoded(buffer[: starts[-1]], starts[:-1])
                buffer = buffer[starts[-1] :]
            elif len(buffer) > MAX_NODE_BYTES:
                self._quality.add("node_damaged", 1, "a node that is too long")
                buffer = b""
        yield from self._last(buffer)

    def _last(self, buffer: bytes) -> Iterator[ExecutionNode]:
        """The nodes up to the end of the list, or of a truncated file."""
        starts = [match.start() for match in _NODE.finditer(buffer)]
        if not starts:
            if b"]" not in buffer:
                self._quality.add("truncated")
            return
        yield from self._decoded(buffer[: starts[-1]], starts[:-1])
        last = buffer[starts[-1] :]
        end = last.rfind(b"]", 0, last.rfind(b"]"))
        for stop in (last.rfind(b"]"), end, len(last)):
            node = None if stop < 0 else _decode_one(last[:stop])
            if node is not None:
                if stop == len(last):
                    self._quality.add("truncated")
                yield from _converted([node], self._quality)
                return
        self._quality.add("truncated")

    def _decoded(self, piece: bytes, starts: list[int]) -> Iterator[ExecutionNode]:
        if not starts:
            return
        text = piece[starts[0] :].rstrip(b" \t\r\n,")
        try:
            nodes = msgspec.json.decode(b"[" + text + b"]", type=set_up(list[_Node]))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            nodes = []
            for start, stop in zip(starts, [*starts[1:], len(piece)], strict=True):
                node = _decode_one(piece[start:stop])
                if node is None:
                    preview = piece[start : start + 100].decode("utf-8", "replace")
                    self._quality.add("node_damaged", 1, preview)
                else:
                    nodes.append(node)
        yield from _converted(nodes, self._quality)


def _decode_one(text: bytes) -> _Node | None:
    try:
        return msgspec.json.decode(text.rstrip(b" \t\r\n,"), type=set_up(_Node))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _converted(nodes: Iterable[_Node], quality: QualityReport) -> Iterator[ExecutionNode]:
    for node in nodes:
        number = as_integer(node.id)
        if number == ABSENT or not isinstance(node.name, str):
            quality.add("node_damaged", 1, f"a node with the id {str(node.id)[:40]}")
            continue
        above = node.parent if node.ctrl_deps is None else node.ctrl_deps
        parents = [as_integer(each) for each in (above if isinstance(above, list) else [above])]
        attributes: dict[str, Any] = {}
        for each in node.attrs if isinstance(node.attrs, list) else ():
            if isinstance(each, dict) and isinstance(each.get("name"), str):
                attributes[each["name"]] = each.get("value")
        for key in _FLAT:
            value = getattr(node, key)
            if value is not None:
                attributes.setdefault(key, value)
        yield ExecutionNode(
            number,
            node.name,
            tuple(each for each in parents if each != ABSENT),
            _values(node.inputs, node.input_shapes, node.input_types),
            _values(node.outputs, node.output_shapes, node.output_types),
            attributes,
        )


def _values(values: Any, shapes: Any, types: Any) -> NodeValues:
    if isinstance(values, dict):
        values, shapes, types = values.get("values"), values.get("shapes"), values.get("types")
    return NodeValues(
        values if isinstance(values, list) else [],
        shapes if isinstance(shapes, list) else [],
        types if isinstance(types, list) else [],
    )


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace").strip('"')
