"""GPUs that are idle most of the time (rule 5 in docs/advice.md)."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.algebra.intervals import total
from torch_tb_profiler.analysis.idle.attribution import idle_causes
from torch_tb_profiler.analysis.idle.causes import CAUSE_TITLES, IdleCause
from torch_tb_profiler.analysis.idle.gaps import all_idle, busy
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles, gpu_use
from torch_tb_profiler.analysis.steps.windows import step_windows
from torch_tb_profiler.evidence.context import Context, gpu_list
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.evidence.idle import perhaps_busy, worst_gap
from torch_tb_profiler.evidence.tables import GPU, build_table
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.schema import Column, TableSpec

MAX_CAUSES = 3
CODE = "low_gpu_utilization"
EVIDENCE = TableSpec(
    CODE,
    "GPUs with low utilization",
    "One row per GPU below the threshold.",
    (
        GPU,
        Column(
            "utilization_pct",
            "Utilization",
            "number",
            "pct",
            "Share of the steps it was busy.",
        ),
    ),
)


def detect(context: Context) -> Finding | None:
    """The utilization of a GPU is below the threshold.

    This is no cause, so no gain is estimated: it lists the causes of the idle time, and is listed
    with the finding about the main cause.
    """
    threshold = entry(CODE).threshold
    steps = step_windows(context.trace, context.selection)  # as in the overview's table
    rows = []
    for gpu, profile in sorted(gpu_profiles(context.trace).items()):
        use = gpu_use(profile, steps.start_ns, steps.end_ns)
        if use.utilization_pct is not None and use.utilization_pct < threshold:
            rows.append({"gpu": gpu, "utilization_pct": use.utilization_pct})
    if not rows or not len(busy(context.trace).start_ns):
        return None
    idle = context.within_steps(all_idle(context.trace))
    idle_pct = context.share_pct(context.per_step_ns(idle))
    least = min(float(row["utilization_pct"]) for row in rows)
    others_pct = 100 - least - idle_pct
    is_doubtful = 2 * total(perhaps_busy(context)) > total(idle)
    return Finding(
        CODE,
        least,
        None,
        values={
            "gpus": gpu_list([int(row["gpu"]) for row in rows]),
            "causes": _causes(context),
            "others": others_pct,
        },
        evidence=build_table(EVIDENCE, pl.DataFrame(rows)),
        source={
            "view": "overview",
            "table": "gpus",
            "filter": f"utilization_pct<{threshold:g}",
            "sort": "utilization_pct",
        },
        architecture=context.architecture_name,
        variant="graphs" if is_doubtful else "default" if idle_pct > others_pct else "others",
        time=idle,
        spot=worst_gap(context, idle),
    )


def _causes(context: Context) -> str:
    """The largest causes as shares of the step: ``"data loading 7.6 %, Python 2.1 %"``."""
    shares = {
        cause: context.share_pct(context.per_step_ns(intervals))
        for cause, intervals in zip(IdleCause, idle_causes(context.trace).intervals, strict=True)
    }
    largest = sorted(shares, key=lambda cause: -shares[cause])[:MAX_CAUSES]
    return ", ".join(
        f"{CAUSE_TITLES[cause]} {shares[cause]:.1f} %" for cause in largest if shares[cause] >= 1
    )
