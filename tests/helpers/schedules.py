"""Pipelines whose passes are known: a small simulation of schedules, and traces of it."""

from __future__ import annotations

from typing import NamedTuple

from tests.helpers.meshes import collective
from tests.helpers.traces import Event, annotation, call, kernel, op, step, trace
from torch_tb_profiler.trace.model import Trace


class Pass(NamedTuple):
    stage: int
    kind: str  # "F" or "B"
    microbatch: int
    start: int
    end: int


def order_1f1b(stage: int, stages: int, count: int) -> list[tuple[str, int]]:
    """The order of Narayanan et al. (2021), figure 4: warm-up, one forward and one backward each,
    cool-down."""
    warm = min(count, stages - stage - 1)
    forward, backward = iter(range(count)), iter(range(count))
    order = [("F", next(forward)) for _ in range(warm)]
    for _ in range(count - warm):
        order += [("F", next(forward)), ("B", next(backward))]
    return order + [("B", each) for each in backward]


def order_gpipe(_stage: int, _stages: int, count: int) -> list[tuple[str, int]]:
    """All forward passes, then all backward passes."""
    return [("F", each) for each in range(count)] + [("B", each) for each in range(count)]


def simulate(
    orders: list[list[tuple[str, int]]], forward: int, backward: int, transfer: int = 0
) -> list[Pass]:
    """The passes of all stages: each begins when its stage is free and its input is there."""
    ends: dict[tuple[int, str, int], int] = {}
    free = [0] * len(orders)
    todo = [list(order) for order in orders]
    passes: list[Pass] = []
    while any(todo):
        before = len(passes)
        for stage, order in enumerate(todo):
            while order:
                kind, number = order[0]
                near = stage + (-1 if kind == "F" else 1)
                needs = [(near, kind, number)] if 0 <= near < len(orders) else []
                if kind == "B":
                    needs.append((stage, "F", number))
                if any(need not in ends for need in needs):
                    break
                ready = max(
                    (ends[need] + (transfer if need[0] != stage else 0) for need in needs),
                    default=0,
                )
                start = max(free[stage], ready)
                end = start + (forward if kind == "F" else backward)
                free[stage] = ends[stage, kind, number] = end
                passes.append(Pass(stage, kind, number, start, end))
                order.pop(0)
        assert len(passes) > before, "the schedule waits for itself"
    return passes


def traces_with_ranges(passes: list[Pass], stages: int) -> dict[str, Trace]:
    """A trace per stage in which ranges name every pass, and one kernel runs in each."""

    def events(stage: int) -> list[Event]:
        last = max(each.end for each in passes)
        rows: list[Event] = [step(1, 0, last + 100)]
        for number, each in enumerate(one for one in passes if one.stage == stage):
            rows += [
                annotation(f"PP:{stage}{each.kind}{each.microbatch}", number, 1),
                call("cudaLaunchKernel", number + 0.2, 0.1, corr=number + 1),
                kernel("gemm", each.start + 50, each.end - each.start, corr=number + 1),
            ]
        return rows

    return _traces(stages, events)


def traces_with_transfers(passes: list[Pass], stages: int, *, phases: bool) -> dict[str, Trace]:
    """A trace per stage with sends and receives between the passes, and small kernels of buffers.

    Args:
        passes: What runs.
        stages: How many stages there are.
        phases: Whether backward runs in autograd nodes, and sends and receives name no peers; else
            they do, and nothing names a phase.
    """

    def transfer(name: str, at: int, source: int, target: int) -> list[Event]:
        about = {"Process Group Name": "1", "Process Group Description": "pp"}
        pair = {} if phases else {"Src Rank": source, "Dst Rank": target}
        described = collective(name, at, 64, range(stages), **about, **pair)
        host = annotation(f"nccl:{name}", at, 1)
        return [{**host, "args": described["args"]}]

    def events(stage: int) -> list[Event]:
        last = max(each.end for each in passes)
        rows: list[Event] = [step(1, 0, last + 100)]
        at = 0
        for number, each in enumerate(one for one in passes if one.stage == stage):
            ahead = 1 if each.kind == "F" else -1
            came, goes = stage - ahead, stage + ahead
            if 0 <= came < stages:
                rows += transfer("recv", at, came, stage)
            corr = 3 * number + 1
            is_backward = each.kind == "B"
            if phases and is_backward:
                node = "autograd::engine::evaluate_function: AddmmBackward0"
                rows.append(op(node, at + 2, 5, tid=2))
            elif phases:
                rows.append(annotation("forward", at + 2, 5))
            rows += [
                call("cudaLaunchKernel", at + 3, 1, corr=corr, tid=2 if is_backward else 1),
                kernel("gemm", each.start + 50, each.end - each.start, corr=corr),
            ]
            if 0 <= goes < stages:
                rows += transfer("send", at + 8, stage, goes)
            at += 10
        return rows

    return _traces(stages, events)


def _traces(stages: int, events: object) -> dict[str, Trace]:
    assert callable(events)
    ranks = list(range(stages))
    groups = [{"pg_name": "1", "pg_desc": "pp", "pg_size": stages, "ranks": ranks}]
    return {
        f"rank{rank}": trace(
            events(rank),
            distributedInfo={
                "backend": "nccl",
                "rank": rank,
                "world_size": stages,
                "pg_config": groups,
            },
        )
        for rank in ranks
    }
