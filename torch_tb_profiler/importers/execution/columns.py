"""Nodes → columns, one by one; a graph of a million nodes stays a few arrays and distinct texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from torch_tb_profiler.importers.execution.device_nodes import stream_of
from torch_tb_profiler.importers.execution.nodes import (
    GROUPS,
    STRUCTURE,
    ExecutionNode,
    as_integer,
)
from torch_tb_profiler.importers.execution.values import TensorValue, input_texts, tensors
from torch_tb_profiler.trace.columns import ABSENT, Int32, Int64
from torch_tb_profiler.trace.info import JobInfo, ProcessGroup
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

MAX_TEXT_CHARS = 10_000
"""Longer texts of shapes, types and values are cut."""

MAX_GROUPS = 100_000
MAX_LISTED_RANKS = 1 << 16
"""Of a larger group that lists no ranks only the size is known."""

INTEGERS = (
    "id", "parent", "record_function_id", "sequence", "scope", "thread", "forward_thread", "kind",
    "start_us", "duration_us", "device_stream",
)  # fmt: skip
_ATTRIBUTES = ("rf_id", "seq_id", "scope", "tid", "fw_tid")
"""The attributes behind the third to the seventh of them."""

PACKED_ROWS = 1 << 14

TEXTS = ("name", "shapes", "types", "values")

_COLLECTIVE_KEYS = (
    "collective_name", "dtype", "in_msg_nelems", "out_msg_nelems", "pg_size", "pg_name", "pg_desc",
)  # fmt: skip


class Texts(dict[str, int]):
    """Assigns each distinct text the next code."""

    def __missing__(self, text: str) -> int:
        code = self[text] = len(self)
        return code


class _Rows:
    """Rows of integers, packed into arrays while they come.

    Attributes:
        names: Names of the columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._packed: list[Int64] = []
        self._rows: list[Sequence[int]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, row: Sequence[int]) -> None:
        self._rows.append(row)
        self._count += 1
        if len(self._rows) >= PACKED_ROWS:
            self._pack()

    def column(self, name: str) -> Int64:
        self._pack()
        at = self.names.index(name)
        return np.concatenate([np.empty(0, np.int64), *(rows[:, at] for rows in self._packed)])

    def _pack(self) -> None:
        if self._rows:
            self._packed.append(np.array(self._rows, np.int64))
            self._rows = []


class NodeColumns:
    """The nodes of a file.

    Attributes:
        texts: The dictionary behind :meth:`codes`.
        collectives: Row → the attributes of a collective.
        job: The distributed job, as far as the file describes it; None without any group.
    """

    def __init__(self, quality: QualityReport) -> None:
        """Start without nodes; ``quality`` counts what is damaged."""
        self.texts = Texts()
        self.collectives: dict[int, dict[str, Any]] = {}
        self.job: JobInfo | None = None
        self._quality = quality
        self._numbers = _Rows(INTEGERS)
        self._codes = _Rows(TEXTS)
        self._tensors = _Rows(("row", "is_output", *TensorValue._fields))
        self._groups: list[ProcessGroup] = []

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def tensor_count(self) -> int:
        """Tensors of all nodes, each occurrence."""
        return len(self._tensors)

    def add(self, node: ExecutionNode) -> None:
        """Add the next node; those that stand for the process, its threads and groups are no
        operators."""
        if node.name in STRUCTURE:
            return
        if node.name == GROUPS:
            self._add_groups(node)
            return
        row = len(self)
        kind = node.kind if abs(node.kind) < 1 << 31 else 0
        self._numbers.append(
            (
                node.id,
                node.parents[0] if node.parents else ABSENT,
                *(node.integer(key) for key in _ATTRIBUTES),
                kind,
                node.start_us,
                node.duration_us,
                stream_of(node),
            )
        )
        inputs = input_texts(node.inputs)
        self._codes.append([self._code(text) for text in (node.name, *inputs)])
        for is_output, values in enumerate((node.inputs, node.outputs)):
            for *numbers, device in tensors(values):
                self._tensors.append((row, is_output, *numbers, self._code(device)))
        if "collective_name" in node.attributes or "comm_type" in node.attributes:
            self.collectives[row] = {
                key: value
                for key, value in node.attributes.items()
                if key in _COLLECTIVE_KEYS or key in ("comm_type", "comm_size")
            }

    def _code(self, text: str | None) -> int:
        if text is None:
            return -1
        if len(text) > MAX_TEXT_CHARS:
            self._quality.add("text_cut")
            text = text[:MAX_TEXT_CHARS]
        return self.texts[text]

    def _add_groups(self, node: ExecutionNode) -> None:
        """The process groups in the JSON text of a node; the first such node counts."""
        text = next((each for each in node.inputs.values if isinstance(each, str)), "")
        try:
            listed = json.loads(text) if self.job is None else []
        except (ValueError, RecursionError):
            self._quality.add("node_damaged", 1, "the node of process groups")
            return
        rows = (
            [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        )
        groups = tuple(filter(None, map(_group, rows[:MAX_GROUPS])))
        if groups:
            sizes = [each.size for each in groups if each.size is not None]
            self.job = JobInfo(
                backend=groups[0].backend,
                world_size=max(sizes, default=None),
                group_count=len(groups),
                groups=groups,
            )

    def numbers(self, name: str) -> Int64:
        """One of :data:`INTEGERS`, absent where the file gives none."""
        return self._numbers.column(name)

    def codes(self, name: str) -> Int32:
        """One of :data:`TEXTS` as codes of :attr:`texts`; -1 is absent."""
        return self._codes.column(name).astype(np.int32)

    def tensor_frame(self, node: Int64) -> pl.DataFrame:
        """The side table ``execution_tensors``.

        Args:
            node: What the table calls each node; negative leaves its tensors out.
        """
        arrays = {name: self._tensors.column(name) for name in self._tensors.names}
        names = pl.Series(list(self.texts), dtype=pl.String)
        devices = arrays["device"]
        frame = pl.DataFrame(
            {
                "node": node[arrays["row"]],
                "is_output": arrays["is_output"] == 1,
                **{
                    name: arrays[name]
                    for name in ("tensor", "storage", "offset", "elements", "item_bytes")
                },
                "device": names.gather(pl.Series(np.where(devices < 0, 0, devices)))
                if len(names)
                else pl.Series([None] * len(devices), dtype=pl.String),
            },
            schema=SIDE_SCHEMAS["execution_tensors"],
        )
        return frame.filter(pl.col("node") >= 0)


def _group(row: dict[str, Any]) -> ProcessGroup | None:
    ranks = row.get("ranks")
    size = as_integer(row.get("group_size", row.get("pg_size")))
    is_size = 0 <= size <= MAX_RANKS
    members = [as_integer(each) for each in ranks] if isinstance(ranks, list) else []
    if any(not 0 <= each < MAX_RANKS for each in members):
        members = []
    if not members and is_size and size <= MAX_LISTED_RANKS:
        # The default group lists no ranks: all of them belong to it.
        members = list(range(size))
    return ProcessGroup(
        name=_short(row.get("pg_name")),
        description=_short(row.get("pg_desc")),
        backend=_short(row.get("backend_config")),
        size=size if is_size else None,
        ranks=tuple(members) or None,
    )


def _short(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) else None
