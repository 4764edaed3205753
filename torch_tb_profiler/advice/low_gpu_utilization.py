"""GPUs that are idle most of the time (rule 5 in docs/advice.md)."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.advice.context import Context, gpu_list
from torch_tb_profiler.advice.evidence import GPU, filled
from torch_tb_profiler.advice.finding import Finding
from torch_tb_profiler.analysis.utilization import gpu_profiles, gpu_use
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.schema import Column, TableSpec

CODE = "low_gpu_utilization"
EVIDENCE = TableSpec(
    CODE,
    "Little used GPUs",
    "One row per GPU below the threshold.",
    (
        GPU,
        Column(
            "utilization_pct", "Utilization", "number", "pct", "Share of the steps it was busy for."
        ),
    ),
)


def detect(context: Context) -> Finding | None:
    """Some GPU's utilization lies below the threshold.

    The gain is what a step would be shorter if the least used GPU did the same work at the
    threshold.
    """
    threshold = entry(CODE).threshold
    rows = []
    for gpu, profile in sorted(gpu_profiles(context.trace).items()):
        use = gpu_use(profile, context.windows.start_ns, context.windows.end_ns)
        if use.utilization_pct is not None and use.utilization_pct < threshold:
            rows.append({"gpu": gpu, "utilization_pct": use.utilization_pct})
    if not rows:
        return None
    least = min(float(row["utilization_pct"]) for row in rows)
    return Finding(
        CODE,
        least,
        context.step_ns * (1 - least / threshold) / NS_PER_US,
        values={"gpus": gpu_list([int(row["gpu"]) for row in rows])},
        evidence=filled(EVIDENCE, pl.DataFrame(rows)),
        source={
            "view": "overview",
            "table": "gpus",
            "filter": f"utilization_pct<{threshold:g}",
            "sort": "utilization_pct",
        },
        architecture=context.architecture_name,
    )
