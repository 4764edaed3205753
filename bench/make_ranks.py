"""Makes the run of a large job: data-parallel training, one GPU per rank, about 2 MB of JSON each.

Every rank computes the same operators in time of its own and all-reduces its gradients with NCCL in
one group of all ranks; a collective ends for all together, so who arrives late waits least. One
rank in each hundred is slow.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

STEPS = 4
BUCKETS = 16
"""Gradient buckets, that is all-reduces per step."""

OPERATORS = 40
"""Operators (each with its launch and kernel) per bucket."""

STEP_US = 100_000.0
TRANSFER_US = 800.0
BUCKET_US = STEP_US / (BUCKETS + 1)
NAMES = ("aten::mm", "aten::add_", "aten::relu", "aten::native_layer_norm", "aten::mul")
KERNELS = (
    "ampere_sgemm_128x64_nn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
)
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def make_run(folder: Path, ranks: int) -> None:
    """Write the trace of every rank into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        (folder / f"rank{rank}.1700000000000.pt.trace.json").write_bytes(trace(rank, ranks))


def trace(rank: int, ranks: int) -> bytes:
    """The recording of one rank."""
    events: list[dict[str, Any]] = []
    chance = random.Random(rank)
    late_us = 900.0 if rank % 100 == 7 else chance.uniform(0, 300)
    for step in range(STEPS):
        _add_step(events, step, late_us, chance, ranks)
    header = {
        "schemaVersion": 1,
        "deviceProperties": [
            {"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85_000_000_000,
             "computeMajor": 8, "computeMinor": 0, "numSms": 108,
             "maxThreadsPerMultiprocessor": 2048}
        ],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks,
                            "pg_count": 1, "nccl_version": "2.21.5"},
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": events,
    }  # fmt: skip
    return json.dumps(header, separators=(",", ": ")).encode()


def _add_step(
    events: list[dict[str, Any]], step: int, late_us: float, chance: random.Random, ranks: int
) -> None:
    start = 1000.0 + step * STEP_US
    events.append(
        _slice("user_annotation", f"ProfilerStep#{step}", (1, 1), (start, STEP_US - 10), {})
    )
    for bucket in range(BUCKETS):
        number = step * BUCKETS + bucket
        at = start + 50 + bucket * BUCKET_US
        for position in range(OPERATORS):
            correlation = 10_000 + (number * OPERATORS + position) * 2
            begin = at + position * BUCKET_US / (OPERATORS + 12)
            _add_launch(events, position, correlation, begin, chance)
        ends = at + BUCKET_US - 50
        arrives = ends - TRANSFER_US - 1000 + late_us + chance.uniform(0, 20)
        _add_collective(events, number, arrives, ends, ranks)


def _add_launch(
    events: list[dict[str, Any]], position: int, correlation: int, at: float, chance: random.Random
) -> None:
    shape = [[64, 1024], [1024, 1024]]
    name, kernel = NAMES[position % len(NAMES)], KERNELS[position % len(KERNELS)]
    given = {"External id": correlation, "Input Dims": shape, "Input type": ["float", "float"]}
    events.append(_slice("cpu_op", name, (1, 1), (at, 40.0), given))
    launch = {"External id": correlation, "cbid": 211, "correlation": correlation}
    events.append(_slice("cuda_runtime", "cudaLaunchKernel", (1, 1), (at + 5, 8.0), launch))
    work = {
        "External id": correlation, "queued": 0, "device": 0, "context": 1, "stream": 7,
        "correlation": correlation, "registers per thread": 32, "shared memory": 0,
        "blocks per SM": 4.7, "warps per SM": 18.9, "grid": [512, 1, 1], "block": [128, 1, 1],
        "est. achieved occupancy %": 29,
    }  # fmt: skip
    duration = round(70.0 + chance.uniform(0, 10), 3)
    events.append(_slice("kernel", kernel, (0, 7), (at + 20, duration), work))


def _add_collective(
    events: list[dict[str, Any]], number: int, arrives: float, ends: float, ranks: int
) -> None:
    correlation = 10_001 + number * OPERATORS * 2
    described = {
        "Collective name": "allreduce", "In msg nelems": 6_553_600, "Out msg nelems": 6_553_600,
        "Group size": ranks, "dtype": "Float", "Process Group Name": "0",
        "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, ...]",
        "Seq": number + 1,
    }  # fmt: skip
    given = {"External id": correlation, **described}
    events.append(_slice("cpu_op", "record_param_comms", (1, 2), (arrives - 60, 30.0), given))
    launch = {"External id": correlation, "cbid": 211, "correlation": correlation}
    events.append(
        _slice("cuda_runtime", "cudaLaunchKernelExC", (1, 2), (arrives - 50, 8.0), launch)
    )
    work = {"External id": correlation, "device": 0, "stream": 13, "correlation": correlation}
    duration = round(ends - arrives, 3)
    events.append(_slice("kernel", NCCL, (0, 13), (arrives, duration), {**work, **described}))


def _slice(
    category: str,
    name: str,
    place: tuple[int, int],
    time_us: tuple[float, float],
    args: dict[str, Any],
) -> dict[str, Any]:
    (pid, tid), (at, dur) = place, time_us
    return {
        "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": round(at, 3),
        "dur": dur, "args": args,
    }  # fmt: skip
