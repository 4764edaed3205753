"""Trees of Proton, and what they sum to, by walks over the decoded JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

Node = dict[str, Any]

DEVICES = {
    "CUDA": {
        "0": {"arch": "90", "num_sms": 132, "clock_rate": 1980000, "memory_clock_rate": 2619000,
              "bus_width": 5120},
    }
}  # fmt: skip


def node(name: str, *children: Node, **metrics: Any) -> Node:
    """A node, as the writer orders its keys."""
    return {"children": list(children), "frame": {"name": name, "type": "function"},
            "metrics": metrics}  # fmt: skip


def kernel(name: str, time_ns: int, count: int, device: int = 0, **metrics: Any) -> Node:
    """A node that ran on a device."""
    own = {"time (ns)": time_ns, "count": count, "device_id": str(device), "device_type": "CUDA"}
    return node(name, **own, **metrics)


def decode() -> list[Any]:
    """A profile of a decoder: two layers, attention with its work on the scope around it."""
    layers = [
        node(
            f"layer{number}",
            node("attention", kernel("flash_fwd", 60_001 + number, 20),
                 flops16=4.0e9, bytes=3_000_000),
            node("mlp", kernel("matmul_kernel", 100_000, 20, flops16=8.0e9, bytes=5_000_000),
                 kernel("silu", 7_000, 20)),
        )
        for number in range(2)
    ]  # fmt: skip
    root = node("ROOT", node("decode", *layers, tokens=20), kernel("copy", 500, 3))
    root["metrics"] = {"time (ns)": 0, "count": 0}
    return [root, DEVICES]


def as_json(profile: list[Any]) -> bytes:
    """As Proton writes it."""
    return b"\n" + json.dumps(profile, indent=4).encode() + b"\n"


def as_msgpack(profile: list[Any]) -> bytes:
    """The packed form, whose nodes have their frame first."""

    def ordered(each: Node) -> Node:
        return {"frame": each["frame"], "metrics": each["metrics"],
                "children": [ordered(child) for child in each["children"]]}  # fmt: skip

    return msgspec.msgpack.encode([ordered(profile[0]), *profile[1:]])


def walk(each: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Every node with the names around it, without the root."""
    for child in each["children"]:
        yield path, child
        yield from walk(child, (*path, child["frame"]["name"]))


def sums_by_kernel(profile: list[Any]) -> dict[str, tuple[int, int]]:
    """Name of a kernel → its calls and its time in ns."""
    sums: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for _, each in walk(profile[0]):
        metrics = each["metrics"]
        if metrics.get("count"):
            calls, time_ns = sums[each["frame"]["name"]]
            sums[each["frame"]["name"]] = calls + metrics["count"], time_ns + metrics["time (ns)"]
    return dict(sums)


def time_by_path(profile: list[Any]) -> dict[tuple[str, ...], int]:
    """Path of a scope → the time of all kernels in it, in ns."""
    times: dict[tuple[str, ...], int] = defaultdict(int)
    for path, each in walk(profile[0]):
        for depth in range(1, len(path) + 1):
            times[path[:depth]] += each["metrics"].get("time (ns)", 0)
    return dict(times)


def event(name: str, start_us: float, stream: int, scopes: list[str]) -> dict[str, Any]:
    """A kernel of a Chrome trace as older writers put it: without a process."""
    return {
        "args": {"call_stack": ["ROOT", *scopes, name]}, "cat": "kernel", "dur": 6.0, "name": name,
        "ph": "X", "tid": stream, "ts": start_us,
    }  # fmt: skip


def streams() -> bytes:
    """A Chrome trace with an object for each of two streams: 192 of 312 us are on the second."""
    counts = {7: 20, 13: 32}
    objects = [
        {"displayTimeUnit": "us", "traceEvents": [
            event("matmul", at * 10.0, stream, ["decode", f"layer{at % 2}"])
            for at in range(count)
        ]}
        for stream, count in counts.items()
    ]  # fmt: skip
    return b"".join(json.dumps(each).encode() + b"\n" for each in objects)


def lanes() -> bytes:
    """A Chrome trace as newer writers put it: lanes of threads, graphs and streams of devices."""
    kernels = [
        event("k0", 50.0, 200_007, ["outer", "inner"]) | {"pid": 0},
        event("k1", 80.0, 1_200_003, ["outer"]) | {"pid": 0},
    ]
    scope = {"cat": "scope", "ph": "X", "pid": 0}
    events = [
        {"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "Trace"}},
        {"args": {"call_stack": ["ROOT", "outer"], "metrics": {"flops": "1000.0"}}, "dur": 100.0,
         "name": "outer: <bytes, 20.000000>, <flops, 1000.000000>", "tid": 0, "ts": 0.0,
         **scope, "cat": "metric"},
        {"args": {}, "dur": 40.0, "name": "inner", "tid": 0, "ts": 10.0, **scope},
        {"args": {}, "dur": 30.0, "name": "replay", "tid": 100_007, "ts": 50.0, **scope},
        {"ph": "s", "cat": "flow", "name": "launch->kernel", "pid": 0, "tid": 0, "ts": 10.0,
         "id": 4},
        *kernels,
    ]  # fmt: skip
    header = {"baseTimeNanoseconds": 1_795_920_935_564_939_136, "displayTimeUnit": "us"}
    return json.dumps({**header, "traceEvents": events}).encode()
