"""Nodes that ran on a device: Chakra's converter takes kernels from a trace of the profiler, and
marks what ran on the host with ``is_cpu_op``. Only where nodes have times are they device work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torch_tb_profiler.importers.execution.nodes import ExecutionNode
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    ColumnArrays,
    Int8,
    Int32,
    Int64,
    Track,
    absent_table,
)

HOST_MARK = "is_cpu_op"
STREAM = "stream"
NO_STREAM = -1
"""The lane of nodes whose stream the file does not state."""

LABEL = "GPU"
_NAMES = (("memcpy", Category.MEMCPY), ("memset", Category.MEMSET))
"""How names of copies and memsets begin, whatever the case."""


def stream_of(node: ExecutionNode) -> int:
    """The stream of a node that ran on a device, :data:`NO_STREAM` where it is not stated;
    :data:`ABSENT` for one of the host, and for one that says neither."""
    mark = node.attributes.get(HOST_MARK)
    if not isinstance(mark, int) or mark:
        return int(ABSENT)
    stream = node.integer(STREAM)
    return NO_STREAM if stream == ABSENT or stream < 0 else stream


def device_categories(name_code: Int32, strings: Sequence[str]) -> Int8:
    """The categories of work by its names."""
    known, inverse = np.unique(name_code, return_inverse=True)
    by_name = [_category(strings[code].lower()) for code in known.tolist()]
    categories: Int8 = np.array(by_name, np.int8)[inverse]
    return categories


def _category(name: str) -> Category:
    return next((kind for start, kind in _NAMES if name.startswith(start)), Category.KERNEL)


def device_table(rows: Int64, stream: Int64) -> ColumnArrays:
    """The table ``device`` of slices; no file states the number of a device."""
    return absent_table("device", len(rows)) | {
        "slice": rows,
        "device": np.zeros(len(rows), np.int64),
        "stream": np.where(stream == NO_STREAM, ABSENT, stream),
    }


def device_track(stream: int) -> Track:
    """The track of a stream."""
    name = "no stream" if stream == NO_STREAM else f"stream {stream}"
    return Track("0", str(stream), process_name=LABEL, process_label="GPU 0", thread_name=name)
