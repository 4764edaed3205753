"""Data parallel: ``torchrun --standalone --nproc-per-node 2 ddp.py``."""

from __future__ import annotations

import tiny
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from truth import Truth


def main() -> None:
    """Train this rank."""
    dist.init_process_group("gloo")
    truth = Truth()
    rows = tiny.Rows(128)
    loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows))
    net = DistributedDataParallel(tiny.Net())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for batch in loader:
        truth.begin(len(batch))
        loss = tiny.loss_of(net, batch)
        optimizer.zero_grad()
        loss.backward()
        truth.closing()
        optimizer.step()
    if dist.get_rank() == 0:
        truth.say(f"{dist.get_world_size()} ranks")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
