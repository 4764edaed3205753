"""Step 7 fails."""

from __future__ import annotations

import tiny
import torch
from truth import Truth

truth = Truth()
net = tiny.Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(20):
    batch = torch.randn(8, tiny.FEATURES)
    truth.begin()
    tiny.loss_of(net, batch).backward()
    if step == 7:
        raise ValueError("no such step")
    truth.closing()
    optimizer.step()
    truth.say(f"step {step}")
