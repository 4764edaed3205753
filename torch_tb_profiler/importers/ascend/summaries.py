"""Summary files that Ascend's own analysis writes next to the timeline → side tables."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from torch_tb_profiler.importers.ascend.csv_table import MAX_NUMBER, CsvTable
from torch_tb_profiler.importers.ascend.kernels import unit_labels
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

MS, MB, PCT = 1000.0, 1e6, 100.0
"""Factors of its milliseconds → µs, its decimal megabytes → bytes, its fractions → %."""

STEP_COLUMNS = {
    "computing_us": "Computing",
    "communication_not_overlapped_us": "Communication(Not Overlapped)",
    "overlapped_us": "Overlapped",
    "communication_us": "Communication",
    "free_us": "Free",
    "stage_us": "Stage",
    "bubble_us": "Bubble",
    "communication_not_overlapped_without_receive_us": (
        "Communication(Not Overlapped and Exclude Receive)"
    ),
    "preparing_us": "Preparing",
}
OPERATOR_COLUMNS = {
    "total_us": "Total Time(us)",
    "mean_us": "Avg Time(us)",
    "min_us": "Min Time(us)",
    "max_us": "Max Time(us)",
    "pct": "Ratio(%)",
}
TIMES = {
    "elapse_us": "Elapse Time(ms)",
    "transit_us": "Transit Time(ms)",
    "wait_us": "Wait Time(ms)",
    "synchronization_us": "Synchronization Time(ms)",
    "idle_us": "Idle Time(ms)",
}
ADDRESS = re.compile(r"[%:]|\d+\.\d+\.\d+\.\d+")
"""Occurs only in group names that contain a host address: ``10.1.2.3%eth0_60000_0_17…``."""

PAIR = re.compile(r"(\d{1,9})-(\d{1,9})")
KINDS = ("p2p", "collective")
TOTAL = "Total Op Info"
STEP = re.compile(r"^step", re.IGNORECASE)


def side_table(name: str, source: str, rows: list[dict[str, Any]]) -> SideTable | None:
    """The side table of these rows; missing values are null. None if there are no rows."""
    if not rows:
        return None
    frame = pl.DataFrame(rows, strict=False, infer_schema_length=None)
    return side_table_of_frame(name, source, frame)


def side_table_of_frame(name: str, source: str, frame: pl.DataFrame) -> SideTable:
    """A frame as a side table; missing columns are null. Duplicate links are dropped: the matrix
    can list the same collective as slowest and as median."""
    schema = SIDE_SCHEMAS[name]
    columns = [
        (pl.col(key) if key in frame.columns else pl.lit(None)).cast(dtype, strict=False).alias(key)
        for key, dtype in schema.items()
    ]
    table = frame.select(columns)
    return SideTable(name, source, table.unique(maintain_order=True) if name == "links" else table)


def steps(table: CsvTable, source: str) -> SideTable:
    """``step_trace_time.csv``."""
    frame = pl.DataFrame(
        {
            "step": table.texts("Step"),
            "device": table.texts("Device_id").cast(pl.Int64, strict=False),
            **{key: table.amounts(header) for key, header in STEP_COLUMNS.items()},
        }
    )
    return side_table_of_frame("recorded_steps", source, frame)


def operators(table: CsvTable, source: str) -> SideTable:
    """``op_statistic.csv``."""
    frame = pl.DataFrame(
        {
            "unit": unit_labels(table.texts("Core Type")),
            "type": table.texts("OP Type"),
            "calls": table.texts("Count").cast(pl.Int64, strict=False),
            **{key: table.amounts(header) for key, header in OPERATOR_COLUMNS.items()},
        }
    )
    return side_table_of_frame("recorded_operators", source, frame)


def collectives(document: Any, source: str) -> SideTable | None:
    """The times of ``communication.json``."""
    rows = []
    for step, kind, name, value in _iter_operations(document):
        times = value.get("Communication Time Info")
        if isinstance(times, dict) and name != TOTAL:
            rows.append(
                _name_columns(step, name)
                | {"kind": kind, "start_us": _number(times.get("Start Timestamp(us)"))}
                | {key: _scaled(times.get(header), MS) for key, header in TIMES.items()}
            )
    return side_table("recorded_collectives", source, rows)


def links(document: Any) -> list[dict[str, Any]]:
    """``communication_matrix.json`` as rows of ``links``: what each rank sent to another."""
    rows = []
    for step, _, name, value in _iter_operations(document):
        for pair, sent in value.items():
            ranks = PAIR.fullmatch(pair)
            if ranks is None or not isinstance(sent, dict) or name.startswith(TOTAL):
                continue
            operation = sent.get("Op Name")
            rows.append(
                _name_columns(step, name)
                | ({"name": operation} if isinstance(operation, str) else {})
                | {
                    "source_rank": int(ranks[1]),
                    "destination_rank": int(ranks[2]),
                    "transport": _text(sent.get("Transport Type")),
                    **_transfer_columns(sent),
                    "large_packet_pct": None,
                }
            )
    return rows


def transports(document: Any) -> list[dict[str, Any]]:
    """The bandwidths of ``communication.json`` as rows of ``links``: per transport that moved data,
    without ranks."""
    rows = []
    for step, _, name, value in _iter_operations(document):
        bandwidths = value.get("Communication Bandwidth Info")
        if not isinstance(bandwidths, dict) or name == TOTAL:
            continue
        for transport, sent in bandwidths.items():
            if isinstance(sent, dict) and _number(sent.get("Transit Size(MB)")):
                large = _scaled(sent.get("Large Packet Ratio"), PCT)
                rows.append(
                    _name_columns(step, name)
                    | {"source_rank": None, "destination_rank": None, "transport": transport}
                    | _transfer_columns(sent)
                    | {"large_packet_pct": large}
                )
    return rows


def _transfer_columns(sent: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        "size_bytes": _scaled(sent.get("Transit Size(MB)"), MB),
        "time_us": _scaled(sent.get("Transit Time(ms)"), MS),
        "bandwidth_gbps": _number(sent.get("Bandwidth(GB/s)")),
    }


def _iter_operations(document: Any) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Step, kind, name and fields of every operation; malformed entries are left out."""
    for step, kinds in _items(document):
        for kind, operations in _items(kinds):
            if kind in KINDS:
                for name, value in _items(operations):
                    if isinstance(value, dict):
                        yield STEP.sub("", step), kind, name, value


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _name_columns(step: str, key: str) -> dict[str, Any]:
    name, _, group = key.partition("@")
    return {"step": step or None, "name": name, "group": group_label(group)}


def group_label(group: str | None) -> str | None:
    """The name of a group; if it contains a host address, a number that is the same for all ranks.

    >>> shown_group("17522688603477080586"), shown_group("hccl_world_group"), shown_group("")
    ('17522688603477080586', 'hccl_world_group', None)
    """
    if group and ADDRESS.search(group):
        digest = hashlib.blake2b(group.encode("utf-8", "replace"), digest_size=8).digest()
        return str(int.from_bytes(digest, "big"))
    return group or None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    """A time, size or bandwidth; None for what is none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < MAX_NUMBER else None


def _scaled(value: Any, factor: float) -> float | None:
    number = _number(value)
    return None if number is None else number * factor
