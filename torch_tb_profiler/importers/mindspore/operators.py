"""Operator times by type and by name, on the AI Core, the AI CPU and the host.

Format: docs/format-mindspore.md#operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from torch_tb_profiler.importers.mindspore.numbers import MS, decimal, integer, mean, number
from torch_tb_profiler.importers.mindspore.parsing import csv_rows, parse_name
from torch_tb_profiler.trace.quality import QualityReport

AI_CORE = "AI Core"
AI_CPU = "AI CPU"
HOST_CPU = "host CPU"

_COLUMN_ALIASES = {
    "op_type": "kernel_type",
    "full_op_name": "full_kernel_name",
    "full_kernel_time": "full_kernel_name",  # a misspelling of some releases
    "op_name": "full_kernel_name",
}
_NAME_WITH_NUMBER = re.compile(r"(.+)-op[0-9]+")
_TIME_LINE = re.compile(r"(?P<name>\S.*?)\s+(?P<time>[0-9.eE+-]+)\s+(?P<stream>[0-9]+)\s*")


def type_from_name(name: str) -> str:
    """The type of an operator from its name: ``Default/conv1-Conv2d/Cast-op12`` is a Cast."""
    base_name = name.rpartition("/")[2]
    match = _NAME_WITH_NUMBER.fullmatch(base_name)
    return match[1] if match else base_name


def read_types(text: str, quality: QualityReport) -> Iterator[dict[str, object]]:
    """``aicore_intermediate_*_type.csv``: total time of each type, in ms.

    Raises:
        UnreadableFileError: it has another header.
    """
    names = _COLUMN_ALIASES | {"execution_time": "total_time"}
    for cells in csv_rows(text, ("kernel_type", "total_time"), quality, names):
        kernel_type, total = parse_name(cells["kernel_type"]), decimal(cells["total_time"])
        if kernel_type is None or total is None:
            quality.add("side_row_left_out")
            continue
        calls = integer(cells.get("execution_frequency"))
        yield {
            "unit": AI_CORE,
            "type": kernel_type,
            "calls": calls,
            "total_us": number(total, MS),
            "mean_us": number(total / calls, MS) if calls else None,
            "pct": number(cells.get("percent")),
        }


def read_names(
    text: str, types: Mapping[str, str], quality: QualityReport
) -> Iterator[dict[str, object]]:
    """``aicore_intermediate_*_detail.csv``: mean time of each operator, in ms.

    Raises:
        UnreadableFileError: it has another header.
    """
    for cells in csv_rows(text, ("full_kernel_name", "execution_time"), quality, _COLUMN_ALIASES):
        name, mean_ms = parse_name(cells["full_kernel_name"]), decimal(cells["execution_time"])
        if name is None or mean_ms is None:
            quality.add("side_row_left_out")
            continue
        yield _named_row(name, mean_ms, integer(cells.get("execution_frequency")), types)


def read_compute_times(
    text: str, types: Mapping[str, str], quality: QualityReport
) -> Iterator[dict[str, object]]:
    """``output_op_compute_time_*.txt``: mean time of each operator, in ms, in columns of text; the
    number of calls is not recorded."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        match = _TIME_LINE.fullmatch(line)
        mean_ms = decimal(match["time"]) if match else None
        if match is None or mean_ms is None:
            if not line.startswith(("=", "-", "op_name")):
                quality.add("side_row_left_out")
        elif match["name"] != "total op":
            yield _named_row(match["name"][:4096], mean_ms, None, types)


def _named_row(
    name: str, mean_ms: Decimal, calls: int | None, types: Mapping[str, str]
) -> dict[str, object]:
    return {
        "unit": AI_CORE,
        "type": types.get(name) or type_from_name(name),
        "name": name,
        "calls": calls,
        "total_us": None if calls is None else number(mean_ms * calls, MS),
        "mean_us": number(mean_ms, MS),
    }


class Framework(NamedTuple):
    """What the framework says of operators.

    Attributes:
        types: Full name → type.
        details: Name without its scope → JSON of its inputs and outputs.
    """

    types: dict[str, str]
    details: dict[str, str]


def read_framework(text: str, quality: QualityReport) -> Framework:
    """``framework_raw_*.csv``: types, inputs and outputs of the operators.

    Raises:
        UnreadableFileError: it has another header.
    """
    names = {"full_op_name": "full_kernel_name", "op_type": "kernel_type"}
    types: dict[str, str] = {}
    details: dict[str, str] = {}
    for cells in csv_rows(text, ("full_kernel_name", "kernel_type"), quality, names):
        name, kernel_type = parse_name(cells["full_kernel_name"]), parse_name(cells["kernel_type"])
        if name is not None and kernel_type is not None:
            types[name] = kernel_type
            details.setdefault(name.rpartition("/")[2], cells.get("op_info", ""))
    return Framework(types, details)


def read_aicpu(text: str, quality: QualityReport) -> list[dict[str, object]]:
    """``aicpu_intermediate_*.csv``: a row per call, in ms; the result is summed by type.

    Raises:
        UnreadableFileError: it has another header.
    """
    calls: dict[str, list[Decimal]] = {}
    names = {"op_type": "kernel_type", "op_name": "kernel_type", "node_name": "kernel_type"}
    for cells in csv_rows(text, ("kernel_type", "total_time"), quality, names):
        kernel_type, time_ms = parse_name(cells["kernel_type"]), decimal(cells["total_time"])
        if kernel_type is None or time_ms is None:
            quality.add("side_row_left_out")
            continue
        calls.setdefault(kernel_type, []).append(time_ms)
    total_ms = sum((time for times in calls.values() for time in times), Decimal(0))
    return [
        {
            "unit": AI_CPU,
            "type": kernel_type,
            "calls": len(times),
            "total_us": number(sum(times, Decimal(0)), MS),
            "mean_us": number(mean(times), MS),
            "min_us": number(min(times), MS),
            "max_us": number(max(times), MS),
            "pct": number(sum(times, Decimal(0)) / total_ms, 2) if total_ms else None,
        }
        for kernel_type, times in calls.items()
    ]


def read_host_types(text: str, quality: QualityReport) -> Iterator[dict[str, object]]:
    """``cpu_op_type_info_*.csv``: operators on the host by type, in ms.

    Raises:
        UnreadableFileError: it has another header.
    """
    for cells in csv_rows(text, ("op_type", "type_occurrences", "total_compute_time"), quality):
        yield from _host_rows(cells, "type_occurrences", "total_compute_time", quality)


def read_host_names(text: str, quality: QualityReport) -> Iterator[dict[str, object]]:
    """``cpu_op_detail_info_*.csv``: operators on the host by name, in ms.

    Raises:
        UnreadableFileError: it has another header.
    """
    needed = ("op_type", "full_op_name", "op_occurrences", "op_total_time")
    for cells in csv_rows(text, needed, quality, {"op_full_name": "full_op_name"}):
        for row in _host_rows(cells, "op_occurrences", "op_total_time", quality):
            yield {**row, "name": parse_name(cells["full_op_name"])}


def _host_rows(
    cells: Mapping[str, str], count: str, time: str, quality: QualityReport
) -> Iterator[dict[str, object]]:
    """The row of an operator or a type; none if its cells are damaged, which is counted."""
    op_type, calls, total = (
        parse_name(cells["op_type"]),
        integer(cells[count]),
        decimal(cells[time]),
    )
    if op_type is None or not calls or total is None:
        quality.add("side_row_left_out")
        return
    yield {
        "unit": HOST_CPU,
        "type": op_type,
        "calls": calls,
        "total_us": number(total, MS),
        "mean_us": number(total / calls, MS),
    }
