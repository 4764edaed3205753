"""GPUs of one process, or of several workers, have unequal work."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.algebra.intervals import Intervals, subtract, union_all
from torch_tb_profiler.analysis.parallel.coordinates import rank_coordinates
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import MOSTLY
from torch_tb_profiler.evidence.finding import Finding, Spot
from torch_tb_profiler.evidence.gpu_balance import (
    GPUS,
    busy_ns_of_workers,
    gpu_rows,
    gpu_table,
    lead_pct,
)
from torch_tb_profiler.evidence.worker_means import exposed_means
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.collectives import ALL_STEPS
from torch_tb_profiler.views.quality_notes import is_cut_short

CODE = "gpu_imbalance"
EVIDENCE = gpu_table(CODE, "One row per GPU, the busiest first.")


def detect(context: Context) -> Finding | None:
    """The busiest GPU of the process computes longer than the mean by more than the threshold.

    The gain is its lead over the mean, at most the time in which it computes alone.
    """
    computing = context.compute_intervals
    names = {f"GPU {gpu}": gpu for gpu in computing}
    busy = {name: context.per_step_ns(computing[gpu]) for name, gpu in names.items()}
    finding = _finding(busy, GPUS, context.architecture_name)
    if finding is None:
        return None
    busiest = names[str(finding.values["busiest"])]
    others = union_all(*(time for gpu, time in computing.items() if gpu != busiest))
    alone = context.within_steps(subtract(computing[busiest], others))
    alone_us = context.per_step_ns(alone) / NS_PER_US
    return replace(
        finding,
        gain_us=min(finding.gain_us or 0.0, alone_us) or None,
        time=alone,
        spot=_longest(context, alone, busiest),
    )


def detect_across_workers(contexts: Mapping[str, Context]) -> Finding | None:
    """The busiest GPU of all workers computes longer than the mean by more than the threshold;
    recordings that were cut short are not compared.

    The gain is its lead over the mean, at most the exposed communication of the other workers: if
    no GPU waits for it, there is nothing to gain. In a pipeline it is unknown. A rank that computes
    longer than the other ranks of its stage is no sign of an uneven division of layers.
    """
    whole = {name: each for name, each in contexts.items() if not is_cut_short(each.trace)}
    busy = busy_ns_of_workers(whole)
    source = {
        "view": "distributed",
        "table": "overlap",
        "filter": f"step={ALL_STEPS}",
        "sort": "-computation_us",
    }
    finding = _finding(busy, source, None)
    if finding is None:
        return None
    architectures = {context.architecture_name for context in contexts.values()}
    busiest = str(finding.values["busiest"]).rpartition(" GPU ")[0]
    others = [each for name, each in whole.items() if name != busiest]
    exposed_ns, peer_to_peer_ns = exposed_means(others)
    waits_us = sum(exposed_ns.tolist()) / max(len(others), 1) / NS_PER_US
    pipeline = bool((peer_to_peer_ns > MOSTLY * exposed_ns).any())
    gain_us = None if pipeline else min(finding.gain_us or 0.0, waits_us) or None
    peers = _stage_peers(whole, busiest) if pipeline else []
    lead_of_peers = _lead_pct(busy, peers)
    is_alone = lead_of_peers is not None and lead_of_peers <= entry(CODE).threshold
    return replace(
        finding,
        values={**finding.values, "peers": len(peers), "peers_pct": lead_of_peers or 0.0},
        gain_us=gain_us,
        at_stake_us=finding.gain_us,
        architecture=architectures.pop() if len(architectures) == 1 else None,
        variant="pipeline_rank" if is_alone else "pipeline" if pipeline else "default",
        spot=_longest_kernel(whole[busiest], busiest),
    )


def _stage_peers(contexts: Mapping[str, Context], worker: str) -> list[str]:
    """The other workers of the pipeline stage of a worker; empty where stages are unknown."""
    stages = rank_coordinates({name: each.trace for name, each in contexts.items()})
    stage = stages.filter(pl.col("worker") == worker)["pipeline"]
    same = (pl.col("pipeline") == pl.lit(stage.first(), pl.Int32)) & (pl.col("worker") != worker)
    return stages.filter(same)["worker"].to_list()


def _lead_pct(busy_ns: Mapping[str, float], workers: list[str]) -> float | None:
    """By how much the GPUs of ``workers`` compute longer than the mean of all; None without any."""
    chosen = [time for name, time in busy_ns.items() if name.rpartition(" GPU ")[0] in workers]
    mean = sum(busy_ns.values()) / len(busy_ns)
    return (sum(chosen) / len(chosen) / mean - 1) * 100 if chosen else None


def _longest(context: Context, time: Intervals, gpu: int) -> Spot | None:
    """The longest interval in which one GPU computes alone, with its first kernel."""
    if not len(time.start_ns):
        return None
    row = int((time.end_ns - time.start_ns).argmax())
    start_ns, end_ns = int(time.start_ns[row]), int(time.end_ns[row])
    kernels = context.kernels.filter(
        (pl.col("device") == gpu)
        & (pl.col("start_ns") < end_ns)
        & (pl.col("start_ns") + pl.col("dur_ns") > start_ns)
    )
    return context.spot(start_ns, end_ns, None if kernels.is_empty() else int(kernels["slice"][0]))


def _longest_kernel(context: Context, worker: str) -> Spot | None:
    """The longest interval in which a worker computes."""
    times = list(context.compute_intervals.values())
    time = union_all(*times)
    if not len(time.start_ns):
        return None
    row = int((time.end_ns - time.start_ns).argmax())
    return context.spot(int(time.start_ns[row]), int(time.end_ns[row]), None, worker)


def _finding(
    busy_ns: Mapping[str, float], source: Mapping[str, str], architecture: str | None
) -> Finding | None:
    """The finding from the compute time per step of each GPU; the gain is the busiest's lead over
    the mean: an even division would end the step that much earlier."""
    lead = lead_pct(busy_ns)
    if lead is None or lead <= entry(CODE).threshold:
        return None
    mean = sum(busy_ns.values()) / len(busy_ns)
    busiest = max(busy_ns, key=lambda name: busy_ns[name])
    least = min(busy_ns, key=lambda name: busy_ns[name])
    return Finding(
        CODE,
        lead,
        (busy_ns[busiest] - mean) / NS_PER_US,
        values={
            "count": len(busy_ns),
            "busiest": busiest,
            "least": least,
            "less_pct": 100 - busy_ns[least] / mean * 100,
        },
        evidence=gpu_rows(EVIDENCE, sorted(busy_ns.items(), key=lambda item: -item[1])),
        source=source,
        architecture=architecture,
    )
