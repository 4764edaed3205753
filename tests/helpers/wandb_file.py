"""What Weights & Biases wrote offline: the frames of its file (LevelDB's log format) read by hand,
its messages with its own classes. Since 0.31 the package has no reader for Python."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BLOCK, _HEADER = 32_768, 7
_WHOLE, _FIRST, _LAST = 1, 2, 4


def _messages(data: bytes) -> Iterator[bytes]:
    assert data[:4] == b":W&B"
    at, message = _HEADER, b""
    while at + _HEADER <= len(data):
        room = _BLOCK - at % _BLOCK
        if room < _HEADER:
            at += room
            continue
        _checksum, size, part = struct.unpack("<IHB", data[at : at + _HEADER])
        piece = data[at + _HEADER : at + _HEADER + size]
        at += _HEADER + size
        message = piece if part in (_WHOLE, _FIRST) else message + piece
        if part in (_WHOLE, _LAST):
            yield message


class OfflineRun:
    """A run: ``name``, ``group``, ``project``, ``rows`` of its history, ``summary``, and ``axes``
    (metric → the metric that is its axis)."""

    def __init__(self, folder: Path) -> None:
        from wandb.proto.wandb_internal_pb2 import Record  # noqa: PLC0415 - not everywhere

        self.folder = folder
        self.rows: list[dict[str, Any]] = []
        self.summary: dict[str, Any] = {}
        self.axes: dict[str, str] = {}
        (path,) = folder.glob("*.wandb")
        for message in _messages(path.read_bytes()):
            record = Record.FromString(message)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run = record.run
                self.name, self.group, self.project = run.display_name, run.run_group, run.project
            elif kind == "history":
                self.rows.append(_values(record.history.item))
            elif kind == "summary":
                self.summary.update(_values(record.summary.update))
            elif kind == "metric":
                metric = record.metric
                self.axes[metric.name or metric.glob_name] = metric.step_metric


def _values(items: Any) -> dict[str, Any]:
    return {each.key or "/".join(each.nested_key): json.loads(each.value_json) for each in items}
