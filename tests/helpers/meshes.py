"""Jobs whose parallel strategy is known: meshes of ranks, cut with numpy's reshape, and traces with
the process groups and the traffic that each dimension has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.helpers.traces import Event, kernel, step, trace
from torch_tb_profiler.trace.model import Trace

SHORT = {"pipeline": "pp", "data": "dp", "context": "cp", "tensor": "tp", "sharded": "fsdp"}
Mesh = Mapping[str, int]
"""Dimension → size, the outermost first."""


def coordinates(mesh: Mesh, rank: int) -> dict[str, int]:
    """The index of a rank within each dimension."""
    places = np.unravel_index(rank, tuple(mesh.values()))
    return {name: int(place) for name, place in zip(mesh, places, strict=True)}


def members(mesh: Mesh, dimension: str, rank: int) -> list[int]:
    """The ranks of the group of ``rank`` along a dimension."""
    world = np.arange(int(np.prod(list(mesh.values())))).reshape(tuple(mesh.values()))
    place = [
        slice(None) if name == dimension else index
        for name, index in coordinates(mesh, rank).items()
    ]
    return [int(each) for each in world[tuple(place)].ravel()]


def collective(name: str, at: float, elements: int, ranks: Sequence[int], **more: Any) -> Event:
    """A communication kernel with the arguments that torch copies to it."""
    listed = ", ".join(map(str, ranks[:30])) + (", ..." if len(ranks) > 30 else "")
    kernels = {"send": "SendRecv", "recv": "SendRecv", "allreduce": "AllReduce"}
    return kernel(
        f"ncclDevKernel_{kernels.get(name, 'AllGather')}_f32_RING_LL(ncclDevComm*)",
        at,
        more.pop("dur", 5),
        stream=20,
        **{
            "Collective name": name,
            "dtype": "Float",
            "In msg nelems": elements,
            "Out msg nelems": elements,
            "Group size": len(ranks),
            "Process Group Ranks": f"[{listed}]",
            **more,
        },
    )


def job(
    mesh: Mesh, *, named: bool = True, headers: bool = True, ranks: Sequence[int] | None = None
) -> dict[str, Trace]:
    """A trace per rank, ``rank0`` and so on.

    Args:
        mesh: The strategy.
        named: Whether groups have the descriptions that torch's DeviceMesh writes.
        headers: Whether the headers list the groups.
        ranks: The ranks that were recorded; None for all.
    """
    world = int(np.prod(list(mesh.values())))
    chosen = range(world) if ranks is None else ranks
    return {
        f"rank{rank}": _trace(mesh, rank, world, named=named, headers=headers) for rank in chosen
    }


def _trace(mesh: Mesh, rank: int, world: int, *, named: bool, headers: bool) -> Trace:
    groups = {name: members(mesh, name, rank) for name, size in mesh.items() if size > 1}
    numbers = {name: _number(mesh, name, ranks) for name, ranks in groups.items()}
    events: list[Event] = [step(1, 0, 10_000), kernel("gemm", 5, 9_000)]
    at = 10.0
    for name, ranks in groups.items():
        about = {
            "Process Group Name": numbers[name],
            "Process Group Description": f"mesh_{SHORT[name]}" if named else "undefined",
        }
        for event in _traffic(name, ranks, rank, about):
            events.append({**event, "ts": at})
            at += 10
    config = [
        {
            "pg_name": numbers[name],
            "pg_desc": f"mesh_{SHORT[name]}" if named else "undefined",
            "backend_config": "cuda:nccl",
            "pg_size": len(ranks),
            "ranks": ranks,
        }
        for name, ranks in groups.items()
    ]
    whole = {
        "pg_name": "0",
        "pg_desc": "default_pg",
        "backend_config": "cuda:nccl",
        "pg_size": world,
        "ranks": list(range(world)),
    }
    return trace(
        events,
        distributedInfo={
            "backend": "nccl",
            "rank": rank,
            "world_size": world,
            "pg_config": [whole, *config] if headers else [],
        },
    )


def _number(mesh: Mesh, name: str, ranks: Sequence[int]) -> str:
    """A name as torch gives it: a number that only its members share."""
    return str(1 + 10_000 * list(mesh).index(name) + ranks[0])


def _traffic(dimension: str, ranks: Sequence[int], rank: int, about: dict[str, Any]) -> list[Event]:
    place = ranks.index(rank)
    if dimension == "tensor":
        return [collective("allreduce", 0, 4096, ranks, **about) for _ in range(9)]
    if dimension == "data":
        return [
            collective("allreduce", 0, elements, ranks, **about) for elements in (900, 7000, 7100)
        ]
    if dimension == "sharded":
        gathers = [collective("_allgather_base", 0, 512, ranks, **about) for _ in range(4)]
        scatters = [collective("_reduce_scatter_base", 0, 4096, ranks, **about) for _ in range(4)]
        return gathers + scatters
    if dimension == "context":  # ring attention: every rank sends to the next one
        after, before = ranks[(place + 1) % len(ranks)], ranks[place - 1]
        pairs = [("send", rank, after), ("recv", before, rank)] * 2
    else:
        pairs = []
        for near in (place - 1, place + 1):
            if 0 <= near < len(ranks):
                pairs += [("send", rank, ranks[near]), ("recv", ranks[near], rank)] * 2
    return [
        collective(name, 0, 64, ranks, **about, **{"Src Rank": source, "Dst Rank": target})
        for name, source, target in pairs
    ]
