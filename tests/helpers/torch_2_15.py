"""Events in the form of torch 2.15: a graph drawn on lanes, with nodes that are no work."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]


def node(cat: str, name: str, ts: float, args: dict[str, Any], tid: int = 7) -> Event:
    """A node of graph 5, launched by the call with correlation id 9."""
    given = {"device": 0, "stream": tid, "correlation": 9, "graph id": 5, **args}
    return {
        "ph": "X", "cat": cat, "name": name, "pid": 0, "tid": tid, "ts": ts, "dur": 2,
        "args": given,
    }  # fmt: skip


KERNEL = node("kernel", "k", 10, {"graph node id": 1, "original_stream": 20})
ON_LANE = node(
    "kernel", "k", 12, tid=1001,
    args={
        "graph node id": 2, "original_stream": 33, "annotated_stream": 1001, "name": "mlp",
    },
)  # fmt: skip
COPY = node(
    "gpu_memcpy", "Memcpy", 14,
    {
        "graph node id": 3, "copy kind": "HtoD", "src kind": "Pageable", "dst kind": "Device",
        "bytes": 8,
    },
)  # fmt: skip
EVENT = node("graph_event_node", "EventRecord", 16, {"graph node id": 4, "cuda event": "0x7f"})
HOST = node(
    "graph_host_node", "HostNode: done", 17, tid=1001,
    args={
        "graph node id": 6, "original_stream": 33, "host process": 1, "host thread": 8,
        "host fn": "done", "host fn addr": "0xab",
    },
)  # fmt: skip


def graph_launch() -> list[Event]:
    """The call, the nodes, a memset without a graph and a memory event."""
    memory = {
        "Bytes": 64, "Addr": 7, "Device Type": 1, "Device Id": 0, "Total Allocated": 64,
        "Total Reserved": 128,
    }  # fmt: skip
    memset = node("gpu_memset", "Memset", 30, {"memory kind": 3, "correlation": 10})
    del memset["args"]["graph id"]
    host = {"pid": 1, "tid": 1}
    return [
        {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1001, "args": {"name": "TP lane"}},
        {
            **host, "ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "ts": 1, "dur": 4,
            "args": {"correlation": 9},
        },
        KERNEL, ON_LANE, COPY, EVENT, HOST, memset,
        {**host, "ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 2, "s": "t",
         "args": memory},
    ]  # fmt: skip
