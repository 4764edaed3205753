"""Two epochs of a data loader: ``loader.py --workers N [--start-method spawn]``."""

from __future__ import annotations

import argparse

import tiny
import torch
from torch.utils.data import DataLoader
from truth import Truth


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--start-method")
    parser.add_argument("--output", help="an option that the recorder has too")
    arguments = parser.parse_args()
    truth = Truth()
    net = tiny.Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loader = DataLoader(
        tiny.Rows(84),
        batch_size=8,
        num_workers=arguments.workers,
        multiprocessing_context=arguments.start_method,
    )
    for epoch in range(2):
        for batch in loader:
            truth.begin(len(batch))
            loss = tiny.loss_of(net, batch)
            optimizer.zero_grad()
            loss.backward()
            truth.closing()
            optimizer.step()
        truth.say(f"epoch {epoch}, output {arguments.output}")


if __name__ == "__main__":
    main()
