"""FLOPs of the model in a step against torch's own counter, forward and backward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import torch_tb_profiler

torch = pytest.importorskip("torch")


def test_a_training_step_has_the_flops_that_torch_counts(tmp_path: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 16 * 16, 32),
        torch.nn.Linear(32, 10),
    )
    batch = torch.randn(4, 3, 16, 16)

    def forward() -> Any:
        return model(batch).square().mean()

    def train() -> None:
        model.zero_grad()
        forward().backward()

    train()
    with FlopCounterMode(display=False) as of_step:
        train()
    with FlopCounterMode(display=False) as of_forward, torch.no_grad():
        forward()
    path = tmp_path / "cpu.pt.trace.json"
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        record_shapes=True,
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
    ) as profile:
        for _ in range(4):
            train()
            profile.step()
    with torch_tb_profiler.open_trace(path, cache=False) as trace:
        facts = {fact.key: fact.value for fact in trace.view("efficiency").facts}
        assert trace.trace.steps["name"].to_list() == ["1", "2", "3"]
        one = {fact.key: fact.value for fact in trace.view("efficiency", steps=2).facts}
    step, ahead = of_step.get_total_flops(), of_forward.get_total_flops()
    assert facts["model_flops_per_step"] == one["model_flops_per_step"] == step
    assert facts["model_flops_backward_pct"] == pytest.approx((step - ahead) / step * 100)
    assert "in 3 steps" in str(facts["model_flops_counted"])
