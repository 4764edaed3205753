"""Options of DistributedDataParallel that cost time in every step."""

from __future__ import annotations

from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.settings import (
    named_slice_intervals,
    settings_finding,
    settings_table,
)

CODE = "ddp_options"
EVIDENCE = settings_table(CODE)
SEARCH = frozenset({"torch.distributed.ddp.reducer::search_unused_parameters"})
COPIES = frozenset({"torch.distributed.ddp.reducer::copy_bucket_to_grad"})
"""Ranges of torch's reducer, on the host."""


def detect(context: Context) -> Finding | None:
    """DDP searches for unused parameters, or copies gradients out of its buckets, for more than the
    threshold of the step; of both, the one that takes longer is reported."""
    settings = context.trace.meta.info.settings
    options = settings.data_parallel_options or {}
    if settings.data_parallel != "DDP":
        return None
    costs = {}
    if options.get("find_unused_parameters") and not options.get("static_graph"):
        costs["find_unused_parameters"] = context.per_step_ns(
            named_slice_intervals(context, SEARCH)
        )
    if options.get("gradient_as_bucket_view") is False:
        costs["gradient_as_bucket_view"] = context.per_step_ns(
            named_slice_intervals(context, COPIES)
        )
    if not costs:
        return None
    worst = max(costs, key=lambda name: costs[name])
    return settings_finding(context, EVIDENCE, {worst: options[worst]}, costs[worst], variant=worst)
