"""Names that do harm where they are not treated as text, and recordings full of them.

``tests/data/hostile_names.json`` is the list; every export and the pages (``fe/``) are tested with
all of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.helpers.traces import Event, call, frame, kernel, memory, op, step

_LIST = Path(__file__).parents[1] / "data" / "hostile_names.json"
_ENTRIES = json.loads(_LIST.read_text("ascii"))["names"]

LONGEST = 1_000
"""Characters of the longest of :data:`NAMES`; the others are :data:`LONG_NAMES`."""

ALL_NAMES: list[str] = [entry["text"] * entry.get("times", 1) for entry in _ENTRIES]
NAMES = [name for name in ALL_NAMES if len(name) <= LONGEST]
LONG_NAMES = [name for name in ALL_NAMES if len(name) > LONGEST]

STEPS = 3
_EACH_US = 100


def group(name: str) -> list[str]:
    """The names of one kind: ``"formula"``, ``"terminal"`` …"""
    return [e["text"] * e.get("times", 1) for e in _ENTRIES if e["group"] == name]


def utf8(text: str) -> str:
    """``text`` as a file can hold it: a half of a surrogate pair is a replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def file_name(text: str) -> str | None:
    """``text`` as the name of a file of this system; None where it cannot be one."""
    plain = utf8(text)
    is_one = plain not in ("", ".", "..") and not set(plain) & {"/", "\0"}
    return plain if is_one and len(plain.encode()) < 200 else None


def document(names: Sequence[str], rank: int = 0) -> dict[str, Any]:
    """A recording where each of ``names`` is an operator with a shape and a call stack, the kernel
    that it launches, a collective with its group, a module, a Python function, a range of the user,
    an allocation, a thread and a device."""
    span_us = _EACH_US * (len(names) + 1)
    events: list[Event] = []
    for number in range(STEPS):
        start = number * span_us
        events.append(step(number + 1, start, span_us - 10))
        for at, name in enumerate(names):
            events += _events(name, start + _EACH_US * at + 5, number * len(names) + at + 1)
    for at, name in enumerate(names):
        events.append(_meta("thread_name", 50 + at, name=name))
        events.append(_meta("process_labels", 50 + at, labels=name))
    first = names[0] if names else ""
    return {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": at, "name": name, "totalGlobalMem": 1 << 30, "computeMajor": 9}
            for at, name in enumerate(names)
        ],
        "distributedInfo": {"backend": first, "rank": rank, "world_size": 2},
        "host_name": first,
        "traceEvents": events,
    }


def _events(name: str, at: float, number: int) -> list[Event]:
    stack = f"{name}.py(3): {name};b.py(4): f"
    group_of = {"Process Group Name": name, "Process Group Description": name}
    collective: dict[str, Any] = {
        "Collective name": name or "x",
        "In msg nelems": 8,
        "dtype": name,
        **group_of,
    }
    reduce = f"ncclDevKernel_AllReduce_Sum_f32_RING_LL({name})"
    return [
        frame(f"nn.Module: {name}_0", at, 90, python_id=2 * number, module=number),
        frame(name, at + 1, 88, python_id=2 * number + 1, parent=2 * number),
        op(name, at + 2, 80, cat="user_annotation"),
        op(name, at + 3, 70, ext=number, shape=[[name], [2, 3]], stack=stack),
        call("cudaLaunchKernel", at + 5, 5, corr=2 * number, ext=number),
        kernel(name, at + 12, 30, corr=2 * number, grid=[1, 1, 1], block=[32, 1, 1]),
        call("cudaLaunchKernel", at + 44, 5, corr=2 * number + 1, ext=number),
        kernel(reduce, at + 50, 20, corr=2 * number + 1, stream=8, **collective),
        memory(at + 20, 4096, address=16 * number, allocated=4096),
        memory(at + 60, -4096, address=16 * number, allocated=0),
    ]


def _meta(kind: str, tid: int, **args: Any) -> Event:
    return {"ph": "M", "name": kind, "pid": "1000", "tid": tid, "ts": 0, "args": args}


def write_logdir(
    folder: Path, names: Sequence[str] = NAMES, runs: Sequence[str] = ("run",), workers: int = 2
) -> Path:
    """A folder of ``runs``, each with the recordings of some workers."""
    for run in runs:
        place = folder / run
        place.mkdir(parents=True)
        for rank in range(workers):
            text = json.dumps(document(names, rank))
            (place / f"w{rank}.pt.trace.json").write_text(text, "utf-8")
    return folder
