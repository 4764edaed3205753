"""The queues between the pipeline and the model: their sizes and times, batch by batch.

Format: docs/format-mindspore.md#queues.
"""

from __future__ import annotations

from decimal import Decimal

from torch_tb_profiler.importers.mindspore.numbers import MS, decimal, number, whole
from torch_tb_profiler.importers.mindspore.texts import UnreadableError
from torch_tb_profiler.trace.quality import QualityReport

HOST = "host"
DEVICE = "device"

_TIME, _SIZE = "0", "1"
_TIMES = {"0": "get_us", "1": "push_us", "2": "total_us"}
_US = 0
_NS = -3


def read_host_queue(text: str, quality: QualityReport) -> list[dict[str, object]]:
    """``device_queue_profiling_*.txt`` and ``dataset_iterator_profiling_*.txt``: the queue on the
    host, behind the pipeline. Rows ``type sub batch value [time]``: of type 0 a time in ms (sub 0
    getting, 1 pushing, 2 both), of type 1 a size (sub: capacity).

    Raises:
        UnreadableError: no row is of that kind.
    """
    batches: dict[int, dict[str, object]] = {}
    for line in text.splitlines():
        cells = line.split()
        if not cells:
            continue
        batch = whole(cells[2]) if len(cells) >= 4 else None
        told = None if batch is None else _told(cells)
        if batch is None or told is None:
            quality.add("side_row_left_out")
            continue
        batches.setdefault(batch, {"queue": HOST, "step": batch}).update(told)
    if not batches:
        raise UnreadableError("none of its rows is a time or a size of a queue")
    return [batches[batch] for batch in sorted(batches)]


def _told(cells: list[str]) -> dict[str, object] | None:
    kind, sub, value = cells[0], cells[1], cells[3]
    if kind == _TIME and sub in _TIMES:
        time_us = number(value, MS)
        return None if time_us is None else {_TIMES[sub]: time_us}
    size, capacity = whole(value), whole(sub)
    if kind != _SIZE or size is None or capacity is None:
        return None
    return {"size": size, "capacity": capacity}


def read_device_queue(
    text: str, quality: QualityReport, *, is_gpu: bool
) -> list[dict[str, object]]:
    """``minddata_aicpu_*.txt`` (µs) and ``minddata_getnext_profiling_*.txt`` (ns): the queue on the
    device. Rows ``GetNext… start end size``, one per batch.

    Raises:
        UnreadableError: no row is of that kind.
    """
    rows: list[dict[str, object]] = []
    for line in text.splitlines():
        cells = line.split()
        if not cells or not cells[0].startswith("GetNext"):
            continue  # other operators of the AI CPU stand there too
        start, end = (decimal(cell) for cell in (cells[1:3] if len(cells) > 2 else ("", "")))
        if start is None or end is None or end < start:
            quality.add("side_row_left_out")
            continue
        rows.append(
            {
                "queue": DEVICE,
                "step": len(rows) + 1,
                "size": whole(cells[3]) if len(cells) > 3 else None,
                "total_us": number(Decimal(end - start), _NS if is_gpu else _US),
            }
        )
    if not rows:
        raise UnreadableError("it holds no GetNext")
    return rows
