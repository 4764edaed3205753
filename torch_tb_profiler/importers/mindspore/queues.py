"""The queues between the data pipeline and the model: size and times of each batch.

Format: docs/format-mindspore.md#queues.
"""

from __future__ import annotations

from decimal import Decimal

from torch_tb_profiler.importers.mindspore.numbers import MS, decimal, integer, number
from torch_tb_profiler.importers.mindspore.parsing import UnreadableFileError
from torch_tb_profiler.trace.quality import QualityReport

HOST = "host"
DEVICE = "device"

_TIME, _SIZE = "0", "1"
_TIMES = {"0": "get_us", "1": "push_us", "2": "total_us"}
_US = 0
_NS = -3


def read_host_queue(text: str, quality: QualityReport) -> list[dict[str, object]]:
    """``device_queue_profiling_*.txt`` and ``dataset_iterator_profiling_*.txt``: the queue on the
    host, after the pipeline. Rows are ``type sub batch value [time]``: type 0 is a time in ms (sub
    0: get, 1: push, 2: both), type 1 a size (sub: capacity).

    Raises:
        UnreadableFileError: it has no such row.
    """
    batches: dict[int, dict[str, object]] = {}
    for line in text.splitlines():
        cells = line.split()
        if not cells:
            continue
        batch = integer(cells[2]) if len(cells) >= 4 else None
        measurement = None if batch is None else _parse_measurement(cells)
        if batch is None or measurement is None:
            quality.add("side_row_left_out")
            continue
        batches.setdefault(batch, {"queue": HOST, "step": batch}).update(measurement)
    if not batches:
        raise UnreadableFileError("it has no times or sizes of a queue")
    return [batches[batch] for batch in sorted(batches)]


def _parse_measurement(cells: list[str]) -> dict[str, object] | None:
    kind, sub, value = cells[0], cells[1], cells[3]
    if kind == _TIME and sub in _TIMES:
        time_us = number(value, MS)
        return None if time_us is None else {_TIMES[sub]: time_us}
    size, capacity = integer(value), integer(sub)
    if kind != _SIZE or size is None or capacity is None:
        return None
    return {"size": size, "capacity": capacity}


def read_device_queue(
    text: str, quality: QualityReport, *, is_gpu: bool
) -> list[dict[str, object]]:
    """``minddata_aicpu_*.txt`` (µs) and ``minddata_getnext_profiling_*.txt`` (ns): the queue on the
    device. Rows are ``GetNext… start end size``, one per batch.

    Raises:
        UnreadableFileError: it has no such row.
    """
    rows: list[dict[str, object]] = []
    for line in text.splitlines():
        cells = line.split()
        if not cells or not cells[0].startswith("GetNext"):
            continue  # other operators of the AI CPU are listed too
        start, end = (decimal(cell) for cell in (cells[1:3] if len(cells) > 2 else ("", "")))
        if start is None or end is None or end < start:
            quality.add("side_row_left_out")
            continue
        rows.append(
            {
                "queue": DEVICE,
                "step": len(rows) + 1,
                "size": integer(cells[3]) if len(cells) > 3 else None,
                "total_us": number(Decimal(end - start), _NS if is_gpu else _US),
            }
        )
    if not rows:
        raise UnreadableFileError("it has no GetNext rows")
    return rows
