"""Records the distributed sample: DDP with gloo on 4 ranks, a sub-group and point to point.

    python samples/record/ddp.py OUT

Needs torch (2.13 was used). Writes ``OUT/cpu_ddp4_gloo/rank<N>.<time>.pt.trace.json.gz``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import (
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)

RANKS = 4


def extra_collectives(rank: int, half: dist.ProcessGroup) -> None:
    values = torch.full((1024,), float(rank))
    if rank < 2:
        dist.all_reduce(values, group=half)
    dist.all_gather([torch.empty_like(values) for _ in range(RANKS)], values)
    dist.all_to_all_single(torch.empty(1024), values)
    if rank == 0:
        dist.send(values, dst=1)
    elif rank == 1:
        dist.recv(values, src=0)
    dist.all_reduce(values, async_op=True).wait()
    dist.barrier()


def train(rank: int, out: Path, rendezvous: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=RANKS)
    half = dist.new_group([0, 1], group_desc="half")
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler(
            str(out / "cpu_ddp4_gloo"), f"rank{rank}", use_gzip=True
        ),
        record_shapes=True,
    ) as profiler:
        for _ in range(4):
            loss = model(torch.randn(64, 256)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with record_function("extra_collectives"):
                extra_collectives(rank, half)
            profiler.step()
    dist.destroy_process_group()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, (Path(sys.argv[1]), f"file://{folder}/rendezvous"), nprocs=RANKS)


if __name__ == "__main__":
    main()
