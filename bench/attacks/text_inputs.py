"""Journals, reports and folders of text files written to cost time or memory."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from registry import attack

JOURNAL = "host_1.1700000000000.record.jsonl"
START_NS = 1_700_000_000_000_000_000
ASCEND = "host_1_20240101000000_ascend_pt"
HEADER = {"kind": "header", "version": 1, "pid": 1, "host": "h", "program": "train.py"}


def journal(path: Path, blocks: Iterable[dict[str, Any]]) -> None:
    """Write a journal with some steps before the blocks."""
    starts = [START_NS + n * 10**6 for n in range(100)]
    ends = [start + 10**6 for start in starts]
    steps = {"kind": "steps", "phase": "train", "by": "optimizer", "step": list(range(100))}
    with path.open("w") as file:
        for block in (HEADER, {**steps, "start_ns": starts, "end_ns": ends}, *blocks):
            file.write(json.dumps(block) + "\n")


@attack("journal-workers", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)
    journal(
        path,
        (
            {
                "kind": "work",
                "loader": n,
                "worker": n,
                "batch": [n],
                "start_ns": [START_NS + n],
                "fetch_ns": [5],
            }
            for n in range(count)
        ),
    )


@attack("journal-loaders", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    journal(
        path,
        (
            {
                "kind": "batches",
                "phase": "train",
                "loader": n,
                "batch": [n],
                "start_ns": [START_NS + n],
                "wait_ns": [5],
            }
            for n in range(100_000 + rng.randrange(99))
        ),
    )


@attack("journal-series", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    times = [START_NS + n * 10**9 for n in range(3)]
    metrics = {
        f"m{n}": {"unit": "%", "values": [rng.random()] * 3}
        for n in range(300_000 + rng.randrange(9))
    }
    journal(path, [{"kind": "samples", "source": "GPU 0", "time_ns": times, "metrics": metrics}])


@attack("journal-deep", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    journal(path, [])
    with path.open("a") as file:
        for _ in range(50):
            deep = "[" * (500_000 + rng.randrange(99))
            file.write('{"kind":"settings","values":' + deep + "\n")


@attack("journal-line-long", JOURNAL)
def _(path: Path, _rng: random.Random) -> None:
    journal(path, [])
    with path.open("a") as file:
        for _ in range(300):
            file.write('{"kind":"settings","values":{"x":"' + "y" * 1_000_000)


@attack("journal-starts", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    """The beginning of a block, again and again in one line."""
    journal(path, [])
    with path.open("a") as file:
        file.write('{"kind":' * (3_000_000 + rng.randrange(99)))


@attack("journal-odd", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    """Values of other types and of any size."""
    odd: list[object] = [None, True, -1, 2**70, 1e308, "x", [], {}, [[]], 2**63, -(2**63), START_NS]
    kinds = ("steps", "batches", "work", "samples", "window", "loader", "missing", "settings")
    keys = ("step", "start_ns", "end_ns", "wait_ns", "loader", "worker", "time_ns", "metrics")
    journal(
        path,
        (
            {"kind": rng.choice(kinds), "phase": "train", "by": "loader"}
            | {key: rng.choice([*odd, [rng.choice(odd) for _ in range(5)]]) for key in keys}
            for _ in range(20_000)
        ),
    )


@attack("report-nested", "report.json")
def _(path: Path, rng: random.Random) -> None:
    deep = "[" * (4_000_000 + rng.randrange(99))
    path.write_text('{"schema_version": 1, "view": "overview", "data": ' + deep)


def ascend(path: Path, name: str, lines: Iterable[str]) -> None:
    """A folder of torch_npu with a timeline and one more file."""
    output = path / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    event = {"ph": "X", "name": "aten::mm", "pid": 1, "tid": 1, "ts": "1.0", "dur": 5, "args": {}}
    (output / "trace_view.json").write_text(json.dumps([event] * 10))
    (path / "profiler_info_0.json").write_text("{}")
    with (output / name).open("w") as file:
        file.writelines(lines)


KERNELS = "kernel_details.csv"
COLUMNS = "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us)"


@attack("ascend-line-long", ASCEND)
def _(path: Path, _rng: random.Random) -> None:
    ascend(path, KERNELS, [COLUMNS + "\n", '0,"', *(["x" * 10_000_000] * 30)])


@attack("ascend-columns-many", ASCEND)
def _(path: Path, rng: random.Random) -> None:
    count = 100_000 + rng.randrange(99)
    head = COLUMNS + "," + ",".join(f"c{n}" for n in range(count)) + "\n"
    ascend(
        path,
        KERNELS,
        [head, *[f"0,mm,MatMul,AI_CORE,{n},5" + "," * count + "\n" for n in range(50)]],
    )


@attack("ascend-kernels-many", ASCEND)
def _(path: Path, rng: random.Random) -> None:
    rows = (f"{n % 99},k{n},T{n},AI_CORE,{n}.5,5\n" for n in range(300_000 + rng.randrange(99)))
    ascend(path, KERNELS, [COLUMNS + "\n", *rows])


@attack("ascend-files-many", ASCEND)
def _(path: Path, _rng: random.Random) -> None:
    ascend(path, KERNELS, [COLUMNS + "\n"])
    for number in range(30_000):
        (path / f"file{number}.csv").touch()
    (path / "again").symlink_to(path, target_is_directory=True)


@attack("ascend-json-deep", ASCEND)
def _(path: Path, rng: random.Random) -> None:
    ascend(path, "communication.json", ["[" * (4_000_000 + rng.randrange(99))])


@attack("journal-objects", JOURNAL)
def _(path: Path, rng: random.Random) -> None:
    path.write_text('{"kind":"step"}\n' * (3_000_000 + rng.randrange(99)))


@attack("paddle-json-deep", "paddle_trace.json")
def _(path: Path, rng: random.Random) -> None:
    path.write_text('{"traceEvents":' + "[" * (2_000_000 + rng.randrange(99)))
