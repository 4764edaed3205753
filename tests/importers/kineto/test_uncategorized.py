"""Slices without a known category: device rows of every vendor."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.importers.kineto.reference import read_bytes
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns


def read_rows(*rows: tuple[int, str, str, str], **event: Any) -> EventColumns:
    """A slice named "n" (or as ``event`` says) on each row of (pid, label, process, thread)."""
    events: list[dict[str, Any]] = []
    for pid, label, process, thread in rows:
        declared = {"process_labels": {"labels": label}, "process_name": {"name": process}}
        declared["thread_name"] = {"name": thread}
        events += [
            {"ph": "M", "name": what, "pid": pid, "tid": 3, "args": args}
            for what, args in declared.items()
        ]
        events.append({"ph": "X", "name": "n", "pid": pid, "tid": 3, "ts": 1, "dur": 1} | event)
    return read_bytes(json.dumps(events).encode())


def categories(columns: EventColumns) -> list[Category]:
    return [Category(value) for value in columns.tables["slices"]["category"].tolist()]


@pytest.mark.parametrize("label", ["GPU 1", "XPU 1", "MTIA 1", "HPU 1", "NPU 1"])
@pytest.mark.parametrize("event", [{}, {"cat": "new_kernel"}])
def test_a_row_labelled_with_a_device_number_is_device_work(
    label: str, event: dict[str, str]
) -> None:
    columns = read_rows((1, label, "python", "stream 3"), (2, "CPU", "python", "thread 3"), **event)
    assert categories(columns) == [
        Category.KERNEL,
        Category.HOST_OTHER if event else Category.OPERATOR,
    ]
    device = columns.tables["device"]
    assert [(d, s) for d, s in zip(device["device"], device["stream"], strict=True)] == [(1, 3)]
