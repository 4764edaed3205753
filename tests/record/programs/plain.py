"""A loop without a data loader."""

from __future__ import annotations

import tiny
import torch
from truth import Truth

truth = Truth()
net = tiny.Net()
optimizer = torch.optim.AdamW(net.parameters())
for step in range(20):
    batch = torch.randn(8, tiny.FEATURES)
    truth.begin()
    loss = tiny.loss_of(net, batch)
    optimizer.zero_grad()
    loss.backward()
    truth.closing()
    optimizer.step()
    truth.say(f"step {step}")
