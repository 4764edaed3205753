"""Dumps of the flight recorder (pickles, JSON) written to cost time or memory."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

from registry import attack

PICKLE = "fr_trace_rank_0"
JSON = "fr_trace_0.json"
PROTOCOL = b"\x80\x02"
COUNT = 20_000_000


def entry(number: int, **values: Any) -> dict[str, Any]:
    """An entry as torch writes it."""
    return {
        "record_id": number, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
        "profiling_name": "nccl:all_reduce", "time_created_ns": 1_790_000_000_000_000_000 + number,
        "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]],
        "output_dtypes": ["Float"], "state": "scheduled", "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None, "retired": False, "timeout_ms": 600_000,
        "is_p2p": False, "frames": [{"name": "step", "filename": "train.py", "line": 1}],
    } | values  # fmt: skip


def dump(entries: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    """A dump as torch writes it."""
    group = {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}
    return {
        "version": "2.10", "pg_config": {"0": group}, "pg_status": {}, "comm_lib_version": "2.27",
        "entries": entries,
    } | values  # fmt: skip


@attack("flight-nested", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    count = COUNT + rng.randrange(99)
    path.write_bytes(PROTOCOL + b"]" * count + b"a" * (count - 1) + b".")


@attack("flight-doubling", PICKLE)
def _(path: Path, _rng: random.Random) -> None:
    """Sizes that hold twice the list before, 60 deep: 2**60 lists if they were written out."""
    sizes: list[Any] = [8]
    for _level in range(60):
        sizes = [sizes, sizes]
    path.write_bytes(pickle.dumps(dump([entry(1, input_sizes=sizes)]), 2))


@attack("flight-shared-entries", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """A thousand entries, a thousand times by reference."""
    entries = [entry(number) for number in range(1000)]
    path.write_bytes(pickle.dumps(dump(entries * (1000 + rng.randrange(9))), 2))


@attack("flight-stacks", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Long stacks, another one of each call, of few frames by reference."""
    frames = [{"name": "f" * 900, "filename": f"{n}" + "a" * 900, "line": n} for n in range(99)]
    entries = [entry(number, frames=rng.choices(frames, k=300)) for number in range(20_000)]
    path.write_bytes(pickle.dumps(dump(entries), 2))


@attack("flight-groups", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Many groups of many members each, whose list is one text by reference."""
    ranks = str(list(range(1 << 16)))
    group = {"desc": "g", "ranks": ranks}
    groups = {str(n): group | {"name": str(n)} for n in range(500 + rng.randrange(9))}
    path.write_bytes(pickle.dumps(dump([entry(1)], pg_config=groups), 2))


@attack("flight-names", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Every call in a group of its own, with an operation of its own."""
    entries = [
        entry(n, process_group=(f"{n}{rng.random()}", f"d{n}"), profiling_name=f"nccl:{n}" * 50)
        for n in range(200_000)
    ]
    path.write_bytes(pickle.dumps(dump(entries), 2))


@attack("flight-sizes", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Tensors with many dimensions of huge sizes."""
    sizes = [[rng.choice([2**62, 2**500, -1, 0]) for _ in range(1000)]] * 1000
    path.write_bytes(pickle.dumps(dump([entry(n, input_sizes=sizes) for n in range(5000)]), 2))


@attack("flight-rank", "fr_trace_rank_9999999")
def _(path: Path, _rng: random.Random) -> None:
    """A rank of millions, whose job would have as many, in a group without members."""
    path.write_bytes(pickle.dumps(dump([entry(1)], pg_config={}), 2))


@attack("flight-numbers", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Sequence numbers and times out of every range."""
    odd: list[Any] = [2**500, -(2**500), 2**63, -1, 2**62 - 1, "7" * 30, None, float("nan")]
    keys = ("record_id", "collective_seq_id", "op_id", "time_created_ns", "timeout_ms", "pg_id")
    entries = [entry(n, **{key: rng.choice(odd) for key in keys}) for n in range(100_000)]
    path.write_bytes(pickle.dumps(dump(entries), 2))


@attack("flight-odd-types", PICKLE)
def _(path: Path, rng: random.Random) -> None:
    """Every value of another type than it has."""
    odd: list[Any] = [None, True, -1, 2**70, "x", "\ud800", b"x", [], {}, (), [[]], {"a": 1}]
    entries = [{key: rng.choice(odd) for key in entry(0)} for _ in range(20_000)]
    path.write_bytes(pickle.dumps(dump(entries, pg_status=[{}]), 4))


@attack("flight-json-nested", JSON)
def _(path: Path, rng: random.Random) -> None:
    depth = 2_000_000 + rng.randrange(99)
    head = json.dumps(dump([entry(1)]))[:-2]
    path.write_text(head + ", " + "[" * depth + "]" * depth + "]}")


@attack("flight-json-braces", JSON)
def _(path: Path, rng: random.Random) -> None:
    """A document that ends in the middle of entries that are none."""
    path.write_text('{"version": "2.10", "entries": [' + "{}, " * (2_000_000 + rng.randrange(99)))
