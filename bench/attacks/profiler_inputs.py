"""Files of Proton, rocprof, XPlane and execution traces written to cost time or memory."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from registry import attack

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.importers.protobuf.encode import field, message

MEGABYTE = 1_000_000
TREE, ROCPROF, XPLANE, EXECUTION = (
    "decode.hatchet", "7_results.json", "host.xplane.pb", "et_rank0.json",
)  # fmt: skip


def kernel(name: str, count: int = 2, device: int = 0) -> dict[str, Any]:
    """A kernel of Proton's trees."""
    metrics = {"time (ns)": 10 * count, "count": count, "device_id": str(device),
               "device_type": "CUDA"}  # fmt: skip
    return {"children": [], "frame": {"name": name, "type": "function"}, "metrics": metrics}


def write_tree(path: Path, nodes: Iterable[dict[str, Any]]) -> None:
    """Write a tree of these nodes."""
    root = {"children": list(nodes), "frame": {"name": "ROOT"}, "metrics": {}}
    path.write_text(json.dumps([root, {}]))


@attack("proton-deep", TREE)
def _(path: Path, rng: random.Random) -> None:
    scope = '{"frame":{"name":"s"},"metrics":{},"children":['
    path.write_text("[" + scope * (200_000 + rng.randrange(9)))


@attack("proton-names", TREE)
def _(path: Path, rng: random.Random) -> None:
    write_tree(path, (kernel("n" * MEGABYTE + str(rng.random())) for _ in range(20)))


@attack("proton-counts", TREE)
def _(path: Path, rng: random.Random) -> None:
    write_tree(path, (kernel(f"k{each}", 10**15 + rng.randrange(9)) for each in range(9)))


@attack("proton-devices", TREE)
def _(path: Path, rng: random.Random) -> None:
    write_tree(path, (kernel("k", 2, each) for each in range(20_000 + rng.randrange(9))))


def dispatch(number: int, **more: Any) -> dict[str, Any]:
    """A dispatch of rocprofv3's JSON."""
    return {
        "correlation_id": {"internal": number},
        "start_timestamp": 1000 + 10 * number,
        "end_timestamp": 1005 + 10 * number,
        "dispatch_info": {"agent_id": {"handle": 1}, "kernel_id": number, "dispatch_id": number},
        **more,
    }


def process(dispatches: int, name: str = "k", **more: Any) -> dict[str, Any]:
    """A process of rocprofv3's JSON."""
    return {
        "metadata": {"pid": 7},
        "agents": [{"id": {"handle": 1}, "type": 2}],
        "kernel_symbols": [
            {"kernel_id": each, "formatted_kernel_name": f"{name}{each}"}
            for each in range(dispatches)
        ],
        "buffer_records": {"kernel_dispatch": [dispatch(each) for each in range(dispatches)]},
        **more,
    }


@attack("rocprof-names", ROCPROF)
def _(path: Path, rng: random.Random) -> None:
    name = "n" * MEGABYTE + str(rng.random())
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [process(20, name)]}))


@attack("rocprof-processes", ROCPROF)
def _(path: Path, rng: random.Random) -> None:
    every = [process(2) for _ in range(3000 + rng.randrange(9))]
    path.write_text(json.dumps({"rocprofiler-sdk-tool": every}))


@attack("rocprof-deep", ROCPROF)
def _(path: Path, rng: random.Random) -> None:
    text = json.dumps({"rocprofiler-sdk-tool": [{"x": 0, **process(9)}]})
    depth = 1_000_000 + rng.randrange(9)
    path.write_text(text.replace('"x": 0', '"x": ' + "[" * depth + "]" * depth))


@attack("rocprof-streams", ROCPROF)
def _(path: Path, rng: random.Random) -> None:
    count = 30_000 + rng.randrange(9)
    records = [dispatch(each, stream_id={"handle": each}) for each in range(count)]
    every = process(1, buffer_records={"kernel_dispatch": records})
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [every]}))


def plane(name: str, lines: Iterable[bytes], names: Iterable[str]) -> bytes:
    """A plane of an XPlane profile; names of events are numbered from 1."""
    entries = (
        field(4, message((1, number), (2, message((1, number), (2, each)))))
        for number, each in enumerate(names, 1)
    )
    return field(1, field(2, name) + b"".join(field(3, each) for each in lines) + b"".join(entries))


def line(number: int, name: str, events: int, names: int) -> bytes:
    """A line with events one after another."""
    return message((1, number), (2, name)) + b"".join(
        field(4, message((1, each % names + 1), (2, 3000 * each), (3, 2000)))
        for each in range(events)
    )


@attack("xplane-names", XPLANE)
def _(path: Path, rng: random.Random) -> None:
    names = ["n" * MEGABYTE + str(rng.random()) for _ in range(20)]
    path.write_bytes(plane("/device:TPU:0", [line(1, "XLA Ops", 200, 20)], names))


@attack("xplane-planes", XPLANE)
def _(path: Path, rng: random.Random) -> None:
    count = 500 + rng.randrange(9)
    path.write_bytes(
        b"".join(plane(f"/device:TPU:{each}", [line(1, "XLA Ops", 3, 1)], ["a"])
                 for each in range(count))
    )  # fmt: skip


@attack("xplane-lines", XPLANE)
def _(path: Path, rng: random.Random) -> None:
    count = 50_000 + rng.randrange(9)
    lines = (line(each, f"thread {each}", 1, 1) for each in range(count))
    path.write_bytes(plane("/host:CPU", lines, ["a::b"]))


def write_nodes(path: Path, nodes: Iterable[dict[str, Any]]) -> None:
    """Write an execution trace of these nodes."""
    path.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "nodes": list(nodes)}))


def operator(number: int, name: str, above: int) -> dict[str, Any]:
    """A node of an execution trace."""
    attributes = [{"name": "rf_id", "type": "uint64", "value": number}]
    return {"id": number, "name": name, "ctrl_deps": above, "attrs": attributes}


@attack("execution-chain", EXECUTION)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(9)
    write_nodes(path, (operator(each, "aten::x", each - 1) for each in range(1, count)))


@attack("execution-names", EXECUTION)
def _(path: Path, rng: random.Random) -> None:
    names = ["n" * MEGABYTE + str(rng.random()) for _ in range(20)]
    write_nodes(path, (operator(each, name, 1) for each, name in enumerate(names, 1)))


@attack("execution-deep", EXECUTION)
def _(path: Path, rng: random.Random) -> None:
    depth = 100_000 + rng.randrange(9)
    inputs = '{"values":' + "[" * depth + "]" * depth + ',"shapes":[],"types":["GenericList[Int]"]}'
    node = json.dumps({**operator(1, "aten::x", 0), "inputs": 0}).replace(": 0}", f": {inputs}}}")
    path.write_text(f'{{"schema": "1.1.1-chakra.0.0.4", "nodes": [{node}]}}')
