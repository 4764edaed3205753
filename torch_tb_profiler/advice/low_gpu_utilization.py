"""GPUs that are idle most of the time (rule 5 of peer-behaviour §3.3)."""

from __future__ import annotations

from torch_tb_profiler.advice.context import Context, gpu_list
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.analysis.utilization import gpu_profiles, gpu_use
from torch_tb_profiler.knowledge.advice import entry

CODE = "low_gpu_utilization"


def detect(context: Context) -> Advice | None:
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
    return Advice(
        CODE,
        least,
        context.step_ns * (1 - least / threshold) / 1000,
        values={"gpus": gpu_list([int(row["gpu"]) for row in rows])},
        rows=tuple(rows),
        source={
            "view": "overview",
            "table": "gpus",
            "filter": f"utilization_pct<{threshold:g}",
            "sort": "utilization_pct",
        },
        architecture=context.architecture_name,
    )
