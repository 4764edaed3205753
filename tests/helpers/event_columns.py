"""Kineto-like event dicts as EventColumns, without any importer: one dict after the other, a slow
and independent reference of what importers read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from torch_tb_profiler.importers.kineto.header_types import typed_header
from torch_tb_profiler.importers.kineto.info import trace_info
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import (
    ABSENT,
    TABLE_COLUMNS,
    EventColumns,
    Track,
)
from torch_tb_profiler.trace.quality import QualityReport

Event = dict[str, Any]


_STEP = re.compile(r"ProfilerStep#")
_LOADER = re.compile(r"enumerate\(DataLoader\)#.*\.__next__$|enumerate\(DataPipe\)#")
_HOST_RANGES = {"cpu_op", "operator", "user_annotation"}
_CATEGORIES = {
    "python": Category.PYTHON_OPERATOR,
    "kernel": Category.KERNEL,
    "memcpy": Category.MEMCPY,
    "gpu_memcpy": Category.MEMCPY,
    "memset": Category.MEMSET,
    "gpu_memset": Category.MEMSET,
    "gpu_user_annotation": Category.DEVICE_ANNOTATION,
    "cuda_sync": Category.DEVICE_SYNC,
    "cuda_profiler_range": Category.DEVICE_OTHER,
    "overhead": Category.OVERHEAD,
    "trace": Category.SPAN,
}


def category_of(event: Mapping[str, Any]) -> Category:
    """The category of a ph X event of Kineto."""
    cat, name = str(event.get("cat", "")).lower(), event.get("name", "")
    if cat in _HOST_RANGES:
        if _STEP.match(name):
            return Category.STEP
        if _LOADER.match(name):
            return Category.DATALOADER
        if name.startswith(("Optimizer.step", "Optimizer.zero_grad")):
            return Category.OPTIMIZER
        return Category.ANNOTATION if cat == "user_annotation" else Category.OPERATOR
    if cat == "python_function":
        module = "Python module id" in event.get("args", {})
        return Category.MODULE if module else Category.PYTHON_FUNCTION
    if cat == "runtime" or cat.endswith(("_runtime", "_driver")):
        return Category.RUNTIME
    return _CATEGORIES.get(cat, Category.HOST_OTHER)


def _signed(value: int | None) -> int | None:
    """64 bits without a sign as their two's complement."""
    return value - 2**64 if value is not None and value >= 2**63 else value


class ColumnsOfEvents:
    """Collects rows as lists."""

    def __init__(self, time_unit_ns: int) -> None:
        self.time_unit_ns = time_unit_ns
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLE_COLUMNS}
        self.codes: dict[str, int] = {}
        self.tracks: dict[tuple[str, str], int] = {}
        self.track_rows: list[Track] = []
        self.process_labels: dict[str, dict[str, Any]] = {}

    def read(self, events: Iterable[Event], header: dict[str, Any]) -> EventColumns:
        for event in events:
            phase = event.get("ph")
            if phase == "X":
                self._slice(event)
            elif phase == "i" and event.get("name") in ("[memory]", "[OutOfMemory]"):
                self._memory(event)
            elif phase in ("s", "f") and event.get("cat") in ("fwdbwd", "forward_backward"):
                self._flow(event)
            elif phase == "M":
                self._metadata(event)
        for track in self.track_rows:
            for key, value in self.process_labels.get(track.pid, {}).items():
                setattr(track, key, value)
        return EventColumns(
            format="kineto",
            tables={name: self._table(name) for name in TABLE_COLUMNS},
            strings=list(self.codes),
            tracks=self.track_rows,
            base_ns=int(header.pop("baseTimeNanoseconds", 0)),
            time_unit_ns=self.time_unit_ns,
            info=trace_info(typed_header(header, QualityReport())),
            quality=QualityReport(),
        )

    def _table(self, name: str) -> dict[str, Any]:
        table = {}
        for column, dtype in TABLE_COLUMNS[name].items():
            if np.issubdtype(dtype, np.floating):
                missing: Any = np.nan
            else:
                missing = ABSENT if dtype is np.int64 else -1
            values = [row.get(column) for row in self.rows[name]]
            table[column] = np.array([missing if v is None else v for v in values], dtype)
        return table

    def _code(self, text: object) -> int | None:
        if text is None:
            return None
        if not isinstance(text, str):
            text = json.dumps(text)
        return self.codes.setdefault(text, len(self.codes))

    def _track(self, event: Event) -> int:
        key = (str(event["pid"]), str(event["tid"]))
        if key not in self.tracks:
            self.tracks[key] = len(self.tracks)
            self.track_rows.append(Track(*key))
        return self.tracks[key]

    def _slice(self, event: Event) -> None:
        args = event.get("args", {})
        row = len(self.rows["slices"])
        category = category_of(event)
        external = args.get("External id", args.get("external id"))
        self.rows["slices"].append(
            {
                "category": category,
                "raw_category_code": self._code(event.get("cat")),
                "name_code": self._code(event["name"]),
                "track": self._track(event),
                "start_ns": round(1000 * event["ts"]),
                "dur_ns": round(1000 * event.get("dur", 0)),
                "correlation": args.get("correlation"),
                "external_id": external,
            }
        )
        for table, found in self._details(category, args).items():
            if any(value is not None for value in found.values()):
                self.rows[table].append({"slice": row, **found})
        self._arguments(row, category, event.get("cat"), args)

    def _arguments(self, row: int, category: Category, raw: object, args: dict[str, Any]) -> None:
        keys: tuple[str, ...] = ()
        if category in (Category.MEMCPY, Category.MEMSET):
            keys = ("copy kind", "src kind", "dst kind", "memory kind")
        elif raw in ("graph_event_node", "graph_host_node"):
            args = {**args, "stream": args.get("original_stream", args.get("stream"))}
            keys = ("cuda event", "host fn", "host fn addr", "host process", "host thread")
            keys += ("stream", "graph id", "graph node id")
        for key in keys:
            value = args.get(key)
            if value is not None:
                is_number = keys[0] == "cuda event" and not isinstance(value, str)
                self.rows["arguments"].append(
                    {
                        "slice": row,
                        "key_code": self._code(key),
                        "value": value if is_number else None,
                        "text_code": None if is_number else self._code(str(value)),
                    }
                )

    def _details(self, category: Category, args: dict[str, Any]) -> dict[str, dict[str, Any]]:
        details: dict[str, dict[str, Any]] = {}
        if category in (Category.MODULE, Category.PYTHON_FUNCTION):
            details["python"] = {
                "python_id": args.get("Python id"),
                "python_parent_id": args.get("Python parent id"),
                "module_id": args.get("Python module id"),
            }
        elif category <= Category.OPTIMIZER:
            details["operator"] = {
                "input_shape_code": self._code(args.get("Input Dims")),
                "input_type_code": self._code(args.get("Input type")),
                "call_stack_code": self._code(args.get("Call stack")),
                "module_hierarchy_code": self._code(args.get("Module Hierarchy") or None),
                "sequence_number": args.get("Sequence number"),
                "forward_thread": args.get("Fwd thread id"),
                "record_function_id": args.get("Record function id"),
                "concrete_inputs_code": self._code(args.get("Concrete Inputs")),
            }
        else:
            limits = args.get("occupancy", {}).get("limitingFactors", [])
            details["device"] = {
                "device": args.get("device"),
                "stream": args.get("original_stream", args.get("stream"))
                if category != Category.RUNTIME
                else None,
                "grid_code": self._code(args.get("grid")),
                "block_code": self._code(args.get("block")),
                "registers_per_thread": args.get("registers per thread"),
                "shared_memory_bytes": args.get("shared memory"),
                "blocks_per_sm": args.get("blocks per SM"),
                "warps_per_sm": args.get("warps per SM"),
                "est_achieved_occupancy_pct": args.get("est. achieved occupancy %"),
                "graph": args.get("graph id"),
                "graph_node": args.get("graph node id"),
                "bytes": args.get("bytes") if category != Category.RUNTIME else None,
                "occupancy_limit_code": self._code(", ".join(limits) or None),
            }
            if category == Category.RUNTIME:
                del details["device"]
        details["stated"] = {
            "flops": args.get("flops", args.get("kernel_flop")),
            "bytes": args["kernel_num_gb"] * 1e9 if "kernel_num_gb" in args else None,
            "kernel_file_code": self._code(args.get("kernel_file")),
            "kernel_kwargs_code": self._code(args.get("kernel_kwargs")),
            "annotation_code": self._code(args.get("annotation")),
            "stack_code": self._code(args.get("stack")),
        }
        if "Collective name" in args:
            details["collective"] = self._collective(args)
        return details

    def _collective(self, args: dict[str, Any]) -> dict[str, Any]:
        return {
            "collective_code": self._code(args["Collective name"]),
            "dtype_code": self._code(args.get("dtype")),
            "in_nelems": args.get("In msg nelems"),
            "out_nelems": args.get("Out msg nelems"),
            "group_size": args.get("Group size"),
            "group_code": self._code(args.get("Process Group Name")),
            "group_description_code": self._code(args.get("Process Group Description")),
            "group_ranks_code": self._code(args.get("Process Group Ranks")),
            "in_splits_code": self._code(args.get("In split size")),
            "out_splits_code": self._code(args.get("Out split size")),
            "sequence": args.get("Seq"),
            "comms_id": _signed(args.get("Comms Id")),
            "src_rank": args.get("Src Rank"),
            "dst_rank": args.get("Dst Rank"),
        }

    def _memory(self, event: Event) -> None:
        args = event.get("args", {})
        self.rows["memory"].append(
            {
                "track": self._track(event),
                "time_ns": round(1000 * event["ts"]),
                "device_type": args.get("Device Type"),
                "device": args.get("Device Id"),
                "address": args.get("Addr"),
                "bytes": args.get("Bytes", 0),
                "total_allocated_bytes": args.get("Total Allocated"),
                "total_reserved_bytes": args.get("Total Reserved"),
                "is_oom": int(event["name"] == "[OutOfMemory]"),
            }
        )

    def _flow(self, event: Event) -> None:
        self.rows["flows"].append(
            {
                "raw_category_code": self._code(event["cat"]),
                "flow_id_code": self._code(str(event["id"])),
                "is_start": int(event["ph"] == "s"),
                "track": self._track(event),
                "time_ns": round(1000 * event["ts"]),
            }
        )

    def _metadata(self, event: Event) -> None:
        args, pid = event.get("args", {}), str(event.get("pid"))
        key = {"process_name": "name", "process_labels": "labels"}.get(event["name"])
        if key is not None:
            column = {"name": "process_name", "labels": "process_label"}[key]
            self.process_labels.setdefault(pid, {})[column] = args.get(key)
