"""What a JSON file of rocprofv3 sums to, read with ``json`` alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.helpers.sums import Sums, add_up

DIRECTIONS = {
    (False, True): "Memcpy HtoD (Host -> Device)",
    (True, False): "Memcpy DtoH (Device -> Host)",
    (True, True): "Memcpy DtoD (Device -> Device)",
    (False, False): "Memcpy HtoH (Host -> Host)",
}
GPU = 2


def processes(document: Any) -> Iterator[Any]:
    """The processes of a file."""
    yield from document["rocprofiler-sdk-tool"]


def _gpus(process: Any) -> dict[int, int | None]:
    """Id of an agent → number of its GPU; None for a processor."""
    return {
        agent["id"]["handle"]: agent["logical_node_type_id"] if agent["type"] == GPU else None
        for agent in process["agents"]
    }


def _duration(record: Any) -> int:
    return int(record["end_timestamp"]) - int(record["start_timestamp"])


def kernels(document: Any) -> Sums:
    """Kernels by (device, name), in ns."""
    rows = []
    for process in processes(document):
        gpus = _gpus(process)
        names = {
            each["kernel_id"]: each["formatted_kernel_name"] for each in process["kernel_symbols"]
        }
        for record in process["buffer_records"]["kernel_dispatch"]:
            info = record["dispatch_info"]
            key = (gpus[info["agent_id"]["handle"]], names[info["kernel_id"]])
            rows.append((key, _duration(record)))
    return add_up(rows)


def copies(document: Any, value: str = "bytes") -> Sums:
    """Copies by name, in bytes or ns."""
    rows = []
    for process in processes(document):
        gpus = _gpus(process)
        for record in process["buffer_records"]["memory_copy"]:
            ends = (gpus[record[f"{end}_agent_id"]["handle"]] is not None for end in ("src", "dst"))
            amount = record["bytes"] if value == "bytes" else _duration(record)
            rows.append(((DIRECTIONS[tuple(ends)],), amount))  # type: ignore[index]
    return add_up(rows)


def calls(document: Any) -> Sums:
    """Calls of libraries by (process, thread, name), in ns."""
    rows = []
    for process in processes(document):
        kinds = process["strings"]["buffer_records"]
        for name, records in process["buffer_records"].items():
            if not name.endswith("_api"):
                continue
            for record in records:
                kind = kinds[record["kind"]]
                function = kind["operations"][record["operation"]]
                is_range = any(
                    word in function for word in ("Mark", "Push", "Start", "Thread", "Process")
                )
                if kind["kind"].startswith("MARKER_CORE") and is_range:
                    continue
                key = (str(process["metadata"]["pid"]), str(record["thread_id"]), function)
                rows.append((key, _duration(record)))
    return add_up(rows)


def launches(document: Any) -> Sums:
    """Kernels and copies by the name of the call with their correlation id, in ns."""
    rows: list[tuple[tuple[Any, ...], int]] = []
    for process in processes(document):
        kinds = process["strings"]["buffer_records"]
        by_id: dict[int, str] = {}
        for name in ("hip_api", "hsa_api", "rccl_api"):
            for record in process["buffer_records"][name]:
                function = kinds[record["kind"]]["operations"][record["operation"]]
                by_id.setdefault(record["correlation_id"]["internal"], function)
        for name in ("kernel_dispatch", "memory_copy"):
            for record in process["buffer_records"][name]:
                call = by_id.get(record["correlation_id"]["internal"])
                rows.append(((call,), _duration(record)))
    return add_up(rows)


def counters(document: Any) -> Sums:
    """Counters by (kernel, counter): how many kernels have one, and the sum of all values."""
    rows = []
    for process in processes(document):
        names = {each["id"]["handle"]: each["name"] for each in process["counters"]}
        kernel_names = {
            each["kernel_id"]: each["formatted_kernel_name"] for each in process["kernel_symbols"]
        }
        for record in process["callback_records"]["counter_collection"]:
            kernel = kernel_names[record["dispatch_data"]["dispatch_info"]["kernel_id"]]
            values: dict[str, float] = {}
            for each in record["records"]:
                name = names[each["counter_id"]["handle"]]
                values[name] = values.get(name, 0.0) + each["value"]
            rows += [((kernel, name), value) for name, value in values.items()]
    return add_up(rows)
