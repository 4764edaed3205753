"""A program with its own profiler, exporting into its argument; trained without an optimizer."""

from __future__ import annotations

import sys

import tiny
import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler
from truth import Truth

truth = Truth()
net = tiny.Net()
weights = list(net.parameters())
with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=2, warmup=1, active=3, repeat=1),
    on_trace_ready=tensorboard_trace_handler(sys.argv[1], worker_name="mine"),
) as profiler:
    for _step in range(16):
        batch = torch.randn(8, tiny.FEATURES)
        loss = tiny.loss_of(net, batch)
        truth.begin()
        for weight, grad in zip(weights, torch.autograd.grad(loss, weights), strict=True):
            weight.data -= 0.01 * grad
        truth.closing()
        profiler.step()
truth.say(f"{profiler.step_num} steps")
