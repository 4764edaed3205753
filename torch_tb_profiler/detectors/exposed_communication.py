"""Communication that could run beside computation but does not."""

from __future__ import annotations

from torch_tb_profiler.evidence.collectives import collective_evidence, declared
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import (
    can_be_hidden,
    exposure,
    gain_us,
    variant,
    worst_stretch,
)
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.collectives import ALL_STEPS
from torch_tb_profiler.views.scales import duration_text

CODE = "exposed_communication"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """Exposed communication exceeds the threshold, and computation without communication is
    there to hide most of it: the gain is the smaller of both.

    Sends and receives of a pipeline belong to its schedule: what another one gains cannot be told.
    """
    found = exposure(context)
    if not can_be_hidden(context, found):
        return None
    text = variant(context, found)
    hidden_us = min(found.exposed_ns, found.alone_ns) / NS_PER_US
    saved_us = None if text == "pipeline" else gain_us(context, found.time)
    exposed_share = found.exposed_ns / found.total_ns * 100
    return Finding(
        CODE,
        context.share_pct(found.exposed_ns),
        None if saved_us is None else min(saved_us, hidden_us),
        values={
            "exposed_share": exposed_share,
            "beside": duration_text(hidden_us),
            "pairs_share": found.pairs_ns / found.exposed_ns * 100,
        },
        evidence=collective_evidence(context, EVIDENCE),
        source={"view": "distributed", "table": "overlap", "filter": f"step={ALL_STEPS}"},
        architecture=context.architecture_name,
        variant=text,
        time=found.time,
        spot=worst_stretch(context, found.time),
        at_stake_us=hidden_us,
    )
