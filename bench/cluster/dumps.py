"""Writes the flight recorder's dumps of a job that hangs: ``fr_trace_rank_0`` and so on.

The form is that of torch 2.14 (version 2.10), as in a dump that torch itself wrote: a pickle of
dicts, lists and plain values. ``state`` says how far a call came when the dump was written, which
is when the watchdog of each rank gave up.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bench.cluster.calls import Call, Program
from bench.cluster.hangs import Hang, is_decidable
from bench.cluster.program import BYTES
from bench.cluster.topology import DATA, EXPERT, MODEL, PIPELINE, TENSOR, WORLD, Group

BEGIN_NS = 1_795_312_081_000_000_000
ROUND_NS = 2_000_000
"""Of a round of the replay."""

TIMEOUT_MS = 600_000

_RANGES = {
    "all_reduce": "all_reduce", "all_gather": "_all_gather_base",
    "reduce_scatter": "_reduce_scatter_base", "all_to_all": "all_to_all", "broadcast": "broadcast",
}  # fmt: skip
_TORCH = "/venv/lib/python3.12/site-packages/torch/"
_C10D = _TORCH + "distributed/distributed_c10d.py"
_CALLERS: dict[str, tuple[tuple[str, str, int], ...]] = {
    TENSOR: (
        ("_reduce", "/job/megatron/core/tensor_parallel/mappings.py", 31),
        ("forward", "/job/megatron/core/tensor_parallel/layers.py", 1190),
        ("forward", "/job/model/layer.py", 88),
    ),
    DATA: (
        ("start_grad_sync", "/job/megatron/core/distributed/param_and_grad_buffer.py", 410),
        ("backward", _TORCH + "autograd/function.py", 311),
    ),
    EXPERT: (
        ("all_to_all", "/job/megatron/core/tensor_parallel/mappings.py", 480),
        ("token_dispatch", "/job/model/moe.py", 142),
        ("forward", "/job/model/layer.py", 97),
    ),
    PIPELINE: (
        ("_communicate", "/job/megatron/core/pipeline_parallel/p2p_communication.py", 320),
        ("forward_backward", "/job/megatron/core/pipeline_parallel/schedules.py", 1900),
    ),
    MODEL: (("clip_grad_norm", "/job/megatron/core/optimizer/clip_grads.py", 140),),
    WORLD: (("clip_grad_norm", "/job/megatron/core/optimizer/clip_grads.py", 140),),
}
_BOTTOM = (("train_step", "/job/train.py", 88), ("<module>", "/job/train.py", 210))


def write_dumps(hang: Hang, folder: Path, seed: int) -> dict[str, Any]:
    """Write the dumps that are there, and ``truth.json``; the truth.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng((seed, 7))
    base = {group: int(chance.choice([0, 5000])) for group in _CALLERS}
    offsets = 2e6 * chance.uniform(-1, 1, hang.topology.shape.nodes)
    is_batched = bool(chance.random() < 0.5)
    for rank, program in enumerate(hang.ranks):
        if rank in hang.without:
            continue
        ahead = int(offsets[hang.topology.node[rank]])
        dump = _dump(hang, rank, program, base, ahead)
        if is_batched:
            dump["entries"] = _in_batches(dump["entries"])
        path = folder / f"fr_trace_rank_{rank}"
        path.write_bytes(pickle.dumps(dump, protocol=2))
        last = max(call.created or 0 for call in program.calls if call is not None)
        written = BEGIN_NS + last * ROUND_NS + TIMEOUT_MS * 1_000_000
        os.utime(path, ns=(written, written))
    known = truth(hang, base)
    text = msgspec.json.format(msgspec.json.encode(known), indent=1)
    (folder / "truth.json").write_bytes(text)
    return known


def truth(hang: Hang, base: dict[str, int]) -> dict[str, Any]:
    """What is known about a job that hangs.

    Args:
        hang: The job.
        base: Of each dimension the collectives before the first recorded one.
    """
    dimension = hang.call.op.group
    known: dict[str, Any] = {
        "kind": hang.kind,
        "rank": hang.rank,
        "group": hang.call.group,
        "description": _group(hang, hang.rank, hang.call).description,
        "members": list(_group(hang, hang.rank, hang.call).ranks),
        "dimension": dimension,
        "is_transfer": hang.kind == "transfer",
        "sequence": hang.collective + base[dimension],
        "operation": hang.call.op.name,
        "other_group": None if hang.other is None else hang.other.group,
        "without_dump": list(hang.without),
        "is_decidable": is_decidable(hang),
        "ranks": hang.topology.shape.ranks,
    }
    if hang.kind == "transfer":
        peer = _peer(hang, hang.rank, hang.call)
        known["peer"] = _group(hang, hang.rank, hang.call).ranks[peer]
    return known


def _group(hang: Hang, rank: int, call: Call) -> Group:
    groups = hang.topology.groups[call.op.group]
    return next(group for group in groups if rank in group.ranks)


def _peer(hang: Hang, rank: int, call: Call) -> int:
    """Position of the other rank of a transfer in its group."""
    own = int(hang.topology.stage[rank])
    return own + (1 if (call.op.kind == "send") == (call.op.name == "forward") else -1)


def _dump(
    hang: Hang, rank: int, program: Program, base: dict[str, int], ahead: int
) -> dict[str, Any]:
    groups = hang.topology.groups_of(rank)
    numbers = {group.name: place for place, group in enumerate(groups)}
    calls = [call for call in program.calls if call is not None and call.created is not None]
    status = {}
    for group in groups:
        own = [call for call in calls if call.group == group.name and call.kind == "collective"]
        first = base[group.dimension]

        def last(reached: list[Call], first: int = first) -> int:
            return first + max((call.number for call in reached), default=0)

        status[str(numbers[group.name])] = {
            "last_enqueued_collective": last(own),
            "last_started_collective": last([call for call in own if call.started]),
            "last_completed_collective": last([call for call in own if call.ended]),
        }
    return {
        "version": "2.10",
        "pg_config": {
            group.name: {
                "name": group.name,
                "desc": group.description,
                "ranks": str(list(group.ranks)),
            }
            for group in groups
        },
        "comm_lib_version": "2.28.9",
        "pg_status": status,
        "entries": [
            _entry(hang, rank, call, (place, numbers[call.group], base, ahead))
            for place, call in enumerate(calls)
        ],
    }


def _in_batches(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, of a job that calls ``batch_isend_irecv`` for each transfer.

    The call itself has no state of its own; the entry that ends the batch has.
    """
    batched = []
    for entry in entries:
        if entry["is_p2p"]:
            stateless = {
                "state": "scheduled",
                "time_discovered_started_ns": None,
                "time_discovered_completed_ns": None,
                "retired": False,
            }
            batched.append({**entry, **stateless})
            nothing: dict[str, Any] = {
                f"{way}_{what}": [] for way in ("input", "output") for what in ("sizes", "dtypes")
            }
            end = {**entry, **nothing, "profiling_name": "nccl:coalesced"}
            batched.append(end)
        else:
            batched.append(entry)
    for place, entry in enumerate(batched):
        entry |= {"record_id": place, "op_id": place + 1}
    return batched


def _entry(
    hang: Hang, rank: int, call: Call, where: tuple[int, int, dict[str, int], int]
) -> dict[str, Any]:
    place, group_number, base, ahead = where
    group = _group(hang, rank, call)
    is_transfer = call.kind != "collective"
    number = call.number + base[group.dimension]
    inputs, outputs = _sizes(call, len(group.ranks))
    state = "completed" if call.ended else "started" if call.started else "scheduled"

    def moment(round_number: int | None, later: int) -> int | None:
        if round_number is None:
            return None
        return BEGIN_NS + ahead + round_number * ROUND_NS + later

    return {
        "frames": _frames(call),
        "record_id": place,
        "pg_id": group_number,
        "process_group": (group.name, group.description),
        "thread_name": "pt_autograd_0" if call.op.is_backward else "python",
        "thread_id": str(140_400_000_000_000 + rank),
        "collective_seq_id": 0 if is_transfer else number,
        "p2p_seq_id": number if is_transfer else 0,
        "op_id": place + 1,
        "profiling_name": _name(hang, rank, call),
        "time_created_ns": moment(call.created, place * 1000),
        "input_sizes": inputs,
        "input_dtypes": ["BFloat16"],
        "output_sizes": outputs,
        "output_dtypes": ["BFloat16"],
        "state": state,
        "time_discovered_started_ns": moment(call.started, 900_000),
        "time_discovered_completed_ns": moment(call.ended, 1_500_000),
        "retired": bool(call.ended),
        "timeout_ms": TIMEOUT_MS,
        "is_p2p": is_transfer,
    }


def _sizes(call: Call, members: int) -> tuple[list[list[int]], list[list[int]]]:
    whole = max(members, int(call.op.size * call.size) // BYTES)
    own = whole // members
    name = call.operation or call.op.name
    if name == "all_gather":
        return [[own]], [[whole]]
    if name == "reduce_scatter":
        return [[whole]], [[own]]
    return [[whole]], [[whole]]


def _name(hang: Hang, rank: int, call: Call) -> str:
    if call.kind == "collective":
        return "nccl:" + _RANGES[call.operation or call.op.name]
    own, peer = int(hang.topology.stage[rank]), _peer(hang, rank, call)
    return f"nccl:send {own}->{peer}" if call.kind == "send" else f"nccl:recv {own}<-{peer}"


def _frames(call: Call) -> list[dict[str, Any]]:
    """Innermost first."""
    name = call.operation or call.op.name if call.kind == "collective" else call.kind
    first = ((name, _C10D, 2900), ("wrapper", _TORCH + "distributed/c10d_logger.py", 83))
    frames = (*first, *_CALLERS[call.op.group], *_BOTTOM)
    return [{"name": name, "filename": file, "line": line} for name, file, line in frames]
