"""Jobs of several roles as hand-built traces: what each rank is busy with, in µs."""

from __future__ import annotations

from collections.abc import Iterable

from tests.helpers.traces import Event, annotation, call, kernel, op, trace
from torch_tb_profiler.trace.model import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"

Stretch = tuple[int, int]
"""Start and end in µs."""


def rank_trace(
    computes: Iterable[Stretch],
    *,
    communicates: Iterable[Stretch] = (),
    ranges: Iterable[tuple[str, int, int]] = (),
    recorded: Stretch = (0, 1000),
    rank: int | None = None,
) -> Trace:
    """A rank with kernels, collectives and ranges; an operator spans what is recorded."""
    first, last = recorded
    events: list[Event] = [op("program", first, last - first, tid=99)]
    correlation = 0
    for name, stretches in (("ampere_sgemm_128x64_nn", computes), (NCCL, communicates)):
        for start, end in stretches:
            correlation += 1
            events.append(call("cudaLaunchKernel", start, 0, corr=correlation, tid=3))
            events.append(
                kernel(name, start, end - start, corr=correlation, stream=7 if name != NCCL else 8)
            )
    events += [annotation(name, start, end - start) for name, start, end in ranges]
    header = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank}}
    return trace(events, **header)
