"""A second reader of memory snapshots: Python's own unpickler, which may import nothing.

It shares no code with the importer, which is compared with it.
"""

from __future__ import annotations

import gzip
import io
import pickle
from collections.abc import Iterator
from typing import Any

from tests.helpers.sums import Sums, add_up

Snapshot = dict[str, Any]

HOST = -1
IN_USE = ("active_allocated", "active_pending_free", "active_awaiting_free")


class _PlainData(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def read(data: bytes) -> Snapshot:
    """The snapshot in a file, plain or gzip; bare segments as one.

    Raises:
        pickle.UnpicklingError, EOFError: it is none, or would import something.
    """
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    whole = _PlainData(io.BytesIO(plain)).load()
    return {"segments": whole} if isinstance(whole, list) else whole


def events(snapshot: Snapshot) -> Sums:
    """Events by (device, action), in bytes."""
    return add_up(
        ((device, each["action"]), each["size"])
        for device, trace in _traces(snapshot)
        for each in trace
    )


def allocations(snapshot: Snapshot) -> Sums:
    """Allocations by (device, frames of Python), in bytes."""
    return add_up(
        ((device, _stack(each.get("frames", []))), each["size"])
        for device, trace in _traces(snapshot)
        for each in trace
        if each["action"] == "alloc"
    )


def segments(snapshot: Snapshot) -> Sums:
    """Segments by (device,), in bytes."""
    return add_up(((device,), each["total_size"]) for device, each in _segments(snapshot))


def blocks(snapshot: Snapshot) -> Sums:
    """Blocks by (device, whether in use), in bytes as they are reserved."""
    return add_up(
        ((device, block["state"] in IN_USE), block["size"])
        for device, each in _segments(snapshot)
        for block in each["blocks"]
    )


def peaks(snapshot: Snapshot) -> dict[int, int]:
    """The most bytes in use after any event of a device, by replaying its events.

    What is freed without having been allocated was in use before them all, as was what is in use
    at the end and never was allocated.
    """
    return {
        device: _peak(trace, _in_use(snapshot, device))
        for device, trace in _traces(snapshot)
        if trace
    }


def _peak(trace: list[Any], in_use: dict[int, int]) -> int:
    live: dict[int, int] = {}
    before, now, course = 0, 0, []
    for each in trace:
        address, size = each.get("addr"), each["size"]
        if each["action"] == "alloc":
            live[address] = size
            now += size
        elif each["action"] == "free_completed":
            before += 0 if address in live else size
            now -= live.pop(address, size)
        course.append(now)
    before += sum(size for address, size in in_use.items() if address not in live)
    return before + max(course)


def _in_use(snapshot: Snapshot, device: int) -> dict[int, int]:
    """Address → requested bytes of blocks in use at the end."""
    result = {}
    for of_device, segment in _segments(snapshot):
        address = segment["address"]
        for block in segment["blocks"]:
            address = block.get("address", address)
            if of_device == device and block["state"] in IN_USE:
                result[address] = block.get("requested_size", block["size"])
            address += block["size"]
    return result


def _traces(snapshot: Snapshot) -> Iterator[tuple[int, list[Any]]]:
    yield from enumerate(snapshot.get("device_traces", []))
    yield HOST, [each for trace in snapshot.get("host_traces", []) for each in trace]


def _segments(snapshot: Snapshot) -> Iterator[tuple[int, dict[str, Any]]]:
    yield from ((each.get("device", 0), each) for each in snapshot["segments"])
    yield from ((HOST, each) for each in snapshot.get("host_segments", []))


def _stack(frames: list[Any]) -> str:
    """The frames of Python, innermost first; what stands for a stack without any is a choice."""
    python = [each for each in frames if each["filename"].endswith(".py")]
    return "\n".join(map(_text, python[:60]))


def _text(frame: dict[str, Any]) -> str:
    line = f":{frame['line']}" if frame["line"] else ""
    return f"{frame['filename']}{line} {frame['name']}"
