"""Makes the run of a large job: data-parallel training, one GPU per rank, about 2 MB of JSON each.

Every rank computes the same operators in time of its own and all-reduces its gradients with NCCL in
one group of all ranks; a collective ends for all together, so who arrives late waits least. One
rank in each hundred is slow.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STEP_US = 100_000.0
TRANSFER_US = 800.0
NAMES = ("aten::mm", "aten::add_", "aten::relu", "aten::native_layer_norm", "aten::mul")
KERNELS = (
    "ampere_sgemm_128x64_nn",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)",
)
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@dataclass(frozen=True)
class Shape:
    """How much each rank does.

    Attributes:
        steps: Steps.
        buckets: Gradient buckets, that is all-reduces per step.
        operators: Operators (each with its launch and kernel) per bucket.
    """

    steps: int
    buckets: int
    operators: int

    @property
    def bucket_us(self) -> float:
        """Time of a bucket."""
        return STEP_US / (self.buckets + 1)


SHAPES = {"usual": Shape(4, 16, 40), "small": Shape(3, 6, 6)}
"""Of 2 MB of JSON per rank, and of 0.1 MB, so that a disk holds thousands."""


def make_run(folder: Path, ranks: int, shape: Shape = SHAPES["usual"]) -> None:
    """Write the trace of every rank into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        file = folder / f"rank{rank}.1700000000000.pt.trace.json"
        file.write_bytes(trace(rank, ranks, shape))


def trace(rank: int, ranks: int, shape: Shape = SHAPES["usual"]) -> bytes:
    """The recording of one rank."""
    events: list[dict[str, Any]] = []
    chance = random.Random(rank)
    late_us = 900.0 if rank % 100 == 7 else chance.uniform(0, 300)
    for step in range(shape.steps):
        _add_step(events, (step, shape), late_us, chance, ranks)
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
    events: list[dict[str, Any]],
    numbered: tuple[int, Shape],
    late_us: float,
    chance: random.Random,
    ranks: int,
) -> None:
    step, shape = numbered
    start = 1000.0 + step * STEP_US
    events.append(
        _slice("user_annotation", f"ProfilerStep#{step}", (1, 1), (start, STEP_US - 10), {})
    )
    for bucket in range(shape.buckets):
        number = step * shape.buckets + bucket
        at = start + 50 + bucket * shape.bucket_us
        for position in range(shape.operators):
            correlation = 10_000 + (number * shape.operators + position) * 2
            begin = at + position * shape.bucket_us / (shape.operators + 12)
            _add_launch(events, position, correlation, begin, chance)
        ends = at + shape.bucket_us - 50
        arrives = ends - TRANSFER_US - 1000 + late_us + chance.uniform(0, 20)
        _add_collective(events, (number, shape), arrives, ends, ranks)


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
    events: list[dict[str, Any]],
    numbered: tuple[int, Shape],
    arrives: float,
    ends: float,
    ranks: int,
) -> None:
    number, shape = numbered
    correlation = 10_001 + number * shape.operators * 2
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
