"""Programs without the cause that a finding names: what is left is what its remedy can save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.simulation.program import (
    Call,
    Collective,
    Copy,
    Graph,
    Launch,
    Loading,
    OnThread,
    Operation,
    Program,
    Range,
    Rule,
    StreamWait,
    Synchronize,
    Work,
    rewritten,
)

Removal = Callable[[Program], Program]


def _by(rule: Rule) -> Removal:
    return lambda program: rewritten(program, rule)


def _no_waits(operation: Operation) -> Sequence[Operation]:
    """Nothing waits for the device: no synchronization, results fetched without waiting."""
    if isinstance(operation, Synchronize):
        return ()
    if isinstance(operation, Copy):
        return (replace(operation, waits=False, staging_us=0.0),)
    return (operation,)


def _pinned(operation: Operation) -> Sequence[Operation]:
    """Copies to the device come from pinned memory and block nobody."""
    if isinstance(operation, Copy) and operation.kind == "HtoD":
        return (replace(operation, waits=False, is_pageable=False, staging_us=0.0),)
    return (operation,)


def _copies_aside(operation: Operation) -> Sequence[Operation]:
    """Copies run beside the kernels."""
    if isinstance(operation, Copy):
        return (replace(operation, waits=False, is_pageable=False, staging_us=0.0, stream=99),)
    return (operation,)


def _no_loading(operation: Operation) -> Sequence[Operation]:
    return () if isinstance(operation, Loading) else (operation,)


def _host_at_no_cost(operation: Operation) -> Sequence[Operation]:
    """The host only launches, as the replay of a graph does."""
    if isinstance(operation, Work):
        return ()
    if isinstance(operation, Range):
        return (replace(operation, us=0.0),)
    if isinstance(operation, (Launch, Collective)):
        return (replace(operation, call_us=0.0),)
    return (operation,)


def _warm(operation: Operation) -> Sequence[Operation]:
    """What happens once has happened: code is loaded, memory is in the pool."""
    if isinstance(operation, Launch):
        return (replace(operation, loading_us=0.0),)
    return () if isinstance(operation, Call) else (operation,)


def _no_work(operation: Operation) -> Sequence[Operation]:
    """What the host does outside operators and calls is gone."""
    return () if isinstance(operation, Work) else (operation,)


def _no_communication(operation: Operation) -> Sequence[Operation]:
    return () if isinstance(operation, Collective) else (operation,)


def communication_first(program: Program) -> Program:
    """In every step communication starts first and nothing waits for it, or it for anything."""
    return _moved(rewritten(program, _no_stream_waits), Collective, at_kernels=False)


def communication_overlapping_kernels(program: Program) -> Program:
    """In every step communication starts with the first kernel."""
    return _moved(rewritten(program, _no_stream_waits), Collective, at_kernels=True)


def _no_fetches(operation: Operation) -> Sequence[Operation]:
    """Nothing is copied to the host."""
    return () if isinstance(operation, Copy) and operation.kind == "DtoH" else (operation,)


def copies_overlapping_kernels(program: Program) -> Program:
    """In every step what goes to the device is copied beside the kernels, from the first one on."""
    return _moved(rewritten(program, _copies_aside), Copy, at_kernels=True)


def _moved(program: Program, kind: type[Operation], *, at_kernels: bool) -> Program:
    """Moves the operations of a kind to the start of every step, or before its first kernel."""
    steps: list[Operation] = []
    for step in program:
        assert isinstance(step, Range)
        moved = _operations_of_kind(step.body, kind)
        rest = rewritten(step.body, lambda one: () if _is_movable(one, kind) else (one,))
        launching = (row for row, one in enumerate(rest) if _launches(one))
        first = next(launching, 0) if at_kernels else 0
        steps.append(replace(step, body=(*rest[:first], *moved, *rest[first:])))
    return tuple(steps)


def _is_movable(operation: Operation, kind: type[Operation]) -> bool:
    return isinstance(operation, kind) and getattr(operation, "kind", "HtoD") == "HtoD"


def _operations_of_kind(body: Sequence[Operation], kind: type[Operation]) -> list[Operation]:
    operations: list[Operation] = []
    for operation in body:
        if isinstance(operation, (Range, OnThread)):
            operations += _operations_of_kind(operation.body, kind)
        elif _is_movable(operation, kind):
            operations.append(operation)
    return operations


def _launches(operation: Operation) -> bool:
    if isinstance(operation, (Range, OnThread)):
        return any(_launches(one) for one in operation.body)
    return isinstance(operation, (Launch, Graph))


def _no_stream_waits(operation: Operation) -> Sequence[Operation]:
    return () if isinstance(operation, StreamWait) else (operation,)


def faster_kernels(of: Callable[[str], bool], factor: float) -> Removal:
    """The kernels of some names take a share of their time."""

    def rule(operation: Operation) -> Sequence[Operation]:
        if isinstance(operation, Launch) and of(operation.name):
            return (replace(operation, kernel_us=operation.kernel_us * factor),)
        if isinstance(operation, Graph):
            kernels = tuple((n, us * factor if of(n) else us) for n, us in operation.kernels)
            return (replace(operation, kernels=kernels),)
        return (operation,)

    return _by(rule)


def _without(*names: str) -> Removal:
    """Ranges whose names begin so are gone, with what is in them."""

    def rule(operation: Operation) -> Sequence[Operation]:
        gone = isinstance(operation, Range) and operation.name.startswith(names)
        return () if gone else (operation,)

    return _by(rule)


def unchecked(program: Program) -> Program:
    """Nodes of a backward pass end with their own work."""

    def rule(operation: Operation) -> Sequence[Operation]:
        if isinstance(operation, Range) and operation.name.startswith("autograd::engine"):
            return (replace(operation, body=operation.body[:1]),)
        return (operation,)

    return rewritten(program, rule)


def _is_eager(operation: Operation) -> bool:
    return isinstance(operation, Range) and len(operation.body) == 1 and _is_small_pass(operation)


def _is_small_pass(operation: Range) -> bool:
    (inside,) = operation.body
    return isinstance(inside, Launch) and "elementwise" in inside.name


def fused(program: Program) -> Program:
    """Neighbouring elementwise operators are one, as long as the longest of them."""
    operations: list[Operation] = []
    for operation in program:
        if operations and _is_eager(operations[-1]) and _is_eager(operation):
            operations[-1] = max(operations[-1], operation, key=_kernel_us)
        elif isinstance(operation, (Range, OnThread)):
            operations.append(replace(operation, body=fused(operation.body)))
        elif isinstance(operation, Graph):
            longest = max(operation.kernels, key=lambda kernel: kernel[1])
            operations.append(replace(operation, kernels=(longest,)))
        else:
            operations.append(operation)
    return tuple(operations)


def _kernel_us(operation: Operation) -> float:
    assert isinstance(operation, Range)
    return sum(inside.kernel_us for inside in operation.body if isinstance(inside, Launch))


REMOVALS: dict[str, tuple[Removal, ...]] = {
    "dataloader_bound": (_by(_no_loading),),
    "communication_share": (_by(_no_communication),),
    "exposed_communication": (
        _by(_no_stream_waits),
        communication_first,
        communication_overlapping_kernels,
        _by(_no_communication),  # the finding names both remedies
    ),
    "memcpy_share": (_by(_copies_aside), _by(_no_fetches), copies_overlapping_kernels),
    "pageable_copies": (_by(_pinned),),
    "launch_bound": (_by(_host_at_no_cost),),
    "host_bound": (_by(_host_at_no_cost),),
    "python_code": (_by(_no_work),),
    "long_calls": (_by(_warm),),
    "host_synchronization": (_by(_no_waits),),
    "unfused_kernels": (fused,),
    "tensor_cores_unused": (faster_kernels(lambda name: "gemm" in name, 0.5),),
    "tensor_core_candidates": (faster_kernels(lambda name: "sgemm" in name, 0.5),),
    "eager_attention": (faster_kernels(lambda name: "softmax" in name.lower(), 0.0),),
    "mixed_precision": (faster_kernels(lambda name: "tf32" in name, 2 / 3),),
    "compilation": (_without("entire_frame_compile"),),
    "garbage_collection": (_without("Python GC"),),
    "graph_breaks": (_without("TorchDynamo Cache Lookup", "AOTDispatcher"),),
    "slow_api": (unchecked,),
    "layout_transposes": (faster_kernels(lambda name: "nchwToNhwc" in name, 0.0),),
}
"""Code of a finding → what takes its cause out of a program; the best way counts. Codes without an
estimated gain need none."""

_WORKERS = "the simulated machine is one worker"
_SHAPES = "the simulated machine does not change a kernel's time with its launch shape"
NOT_SIMULATED = {
    "uneven_steps": "simulated programs repeat the same step",
    "waiting_ranks": _WORKERS,
    "small_collectives": "the simulated machine gives a collective its time, not its size",
    "buffer_broadcasts": "the simulated machine knows one kind of collective",
    "gpu_imbalance": _WORKERS,
    "straggler": _WORKERS,
    "low_occupancy": _SHAPES,
    "low_sm_efficiency": _SHAPES,
    "optimizer_not_fused": "simulated programs have no optimizer",
}
"""Code of a finding with an estimated gain → why no simulated program has its cause."""
