"""Four ranks of gloo with two layers of experts, of which rank 2 gets three times the tokens.

torchrun --nproc-per-node 4 bench/programs/experts.py OUT grouped    # or loop: expert by expert

Writes ``rank{r}.pt.trace.json.gz`` of two steps, with the events that tests of the view of experts
read, and ``tokens{r}.json``: what the program itself counted (rows received per layer, rows sent
per rank). ``tests/data/experts`` was recorded so, with torch 2.13.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

RANKS, LOCAL, HOT, TOKENS, WIDTH, INNER = 4, 2, 2, 1024, 256, 512
WARM_UP, STEPS = 1, 2
RECEIVED: list[int] = []
SENT: list[list[int]] = []
NAMES = ("grouped_mm", "GroupedMm", "matmul", "Matmul", "::mm", "MmBackward", "alltoall")
ARGUMENTS = {
    "External id", "Input Dims", "Sequence number", "Fwd thread id", "Python id",
    "Python parent id", "Python module id", "Record function id",
}  # fmt: skip


class Exchange(torch.autograd.Function):
    """An all_to_all of rows, and its gradient."""

    @staticmethod
    def forward(ctx, rows, sent, received, group):
        ctx.sizes = (sent, received, group)
        out = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(out, rows.contiguous(), received, sent, group=group)
        return out

    @staticmethod
    def backward(ctx, gradient):
        sent, received, group = ctx.sizes
        out = gradient.new_empty(sum(sent), gradient.shape[1])
        dist.all_to_all_single(out, gradient.contiguous(), sent, received, group=group)
        return out, None, None, None


class GroupedExperts(nn.Module):
    """The experts of a rank: one grouped product, or one product after the other."""

    def __init__(self, is_grouped: bool) -> None:
        super().__init__()
        self.is_grouped = is_grouped
        self.first = nn.Parameter(torch.randn(LOCAL, WIDTH, INNER, dtype=torch.bfloat16) * 0.02)
        self.second = nn.Parameter(torch.randn(LOCAL, INNER, WIDTH, dtype=torch.bfloat16) * 0.02)

    def forward(self, rows, counts):
        if self.is_grouped:
            ends = torch.cumsum(counts, 0).to(torch.int32)
            inner = torch._grouped_mm(rows, self.first, offs=ends)
            return torch._grouped_mm(nn.functional.silu(inner), self.second, offs=ends)
        parts = rows.split(counts.tolist())
        pairs = zip(parts, self.first, self.second, strict=True)
        return torch.cat([nn.functional.silu(part @ one) @ two for part, one, two in pairs])


class MoELayer(nn.Module):
    """Routes at random, with a weight of three for the experts of one rank."""

    def __init__(self, group, is_grouped: bool) -> None:
        super().__init__()
        self.group = group
        self.experts = GroupedExperts(is_grouped)

    def forward(self, rows):
        weights = torch.ones(RANKS * LOCAL)
        weights[HOT * LOCAL : (HOT + 1) * LOCAL] = 3.0
        choice = torch.multinomial(weights, len(rows), replacement=True)
        order = choice.argsort()
        counts = torch.bincount(choice, minlength=RANKS * LOCAL)
        incoming = torch.empty_like(counts)
        dist.all_to_all_single(incoming, counts, group=self.group)
        per_expert = incoming.view(RANKS, LOCAL)
        sent = counts.view(RANKS, LOCAL).sum(1).tolist()
        received = per_expert.sum(1).tolist()
        own = Exchange.apply(rows[order], sent, received, self.group)
        RECEIVED.append(len(own))
        SENT.append(sent)
        expert = torch.arange(LOCAL).repeat(RANKS).repeat_interleave(per_expert.flatten())
        by_expert = expert.argsort(stable=True)
        computed = self.experts(own[by_expert], per_expert.sum(0))
        back = torch.empty_like(computed)
        back[by_expert] = computed
        return rows + Exchange.apply(back, received, sent, self.group)[order.argsort()]


def reduced(trace: dict) -> dict:
    """The recording with modules, products, transfers and steps alone."""

    def is_used(event: dict) -> bool:
        kind, name = event.get("cat"), event["name"]
        if event.get("ph") == "M" or kind == "user_annotation":
            return True
        if kind == "python_function":
            return name.startswith("nn.Module")
        return kind == "cpu_op" and any(part in name for part in NAMES)

    events = [event for event in trace["traceEvents"] if is_used(event)]
    for event in events:
        if event.get("ph") == "X":
            given = event.get("args", {})
            event["args"] = {key: value for key, value in given.items() if key in ARGUMENTS}
    return {**trace, "traceEvents": events}


def main() -> None:
    """Record one rank."""
    out, mode = Path(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    torch.set_num_threads(1)
    group = dist.new_group(list(range(RANKS)), group_desc="EXPERT_MODEL_PARALLEL_GROUP")
    layers = [MoELayer(group, mode == "grouped") for _ in range(2)]
    model = nn.Sequential(
        nn.Linear(WIDTH, WIDTH).bfloat16(), layers[0], nn.LayerNorm(WIDTH).bfloat16(), layers[1]
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    plan = schedule(wait=0, warmup=WARM_UP, active=STEPS)
    recorder = profile(
        activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True, with_stack=True,
        with_modules=True,
    )  # fmt: skip
    with recorder:
        for _ in range(WARM_UP + STEPS):
            rows = torch.randn(TOKENS, WIDTH, dtype=torch.bfloat16)
            model(rows).float().pow(2).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step()
    whole = out / f"rank{rank}.whole.json"
    recorder.export_chrome_trace(str(whole))
    small = json.dumps(reduced(json.loads(whole.read_text())), separators=(",", ":"))
    (out / f"rank{rank}.pt.trace.json.gz").write_bytes(gzip.compress(small.encode(), 9))
    whole.unlink()
    first = 2 * WARM_UP
    counted = {"tokens": RECEIVED[first:], "sent": SENT[first:]}
    (out / f"tokens{rank}.json").write_text(json.dumps(counted))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
