"""A compiled model; its graphs run as traced, so that no C++ compiler is needed."""

from __future__ import annotations

import tiny
import torch
from truth import Truth

truth = Truth()
net = tiny.Net()
compiled = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.AdamW(net.parameters())
for _step in range(16):
    batch = torch.randn(8, tiny.FEATURES)
    truth.begin()
    loss = tiny.loss_of(compiled, batch)
    optimizer.zero_grad()
    loss.backward()
    truth.closing()
    optimizer.step()
truth.say("compiled")
