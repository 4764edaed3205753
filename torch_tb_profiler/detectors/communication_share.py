"""Much of the step is communication that nothing could hide (rule 4 in docs/advice.md)."""

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
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "communication_share"
EVIDENCE = declared(CODE)


def detect(context: Context) -> Finding | None:
    """Communication beside which nothing computes takes more than the threshold of the step, and
    it cannot be hidden: there is too little to hide it behind. Where a finding names its cause,
    that one supersedes this one.

    The gain is that time; of sends and receives of a pipeline it cannot be told.
    """
    found = exposure(context)
    share = context.share_pct(found.exposed_ns)
    if share <= entry(CODE).threshold or can_be_hidden(context, found):
        return None
    text, exposed_us = variant(context, found), found.exposed_ns / NS_PER_US
    return Finding(
        CODE,
        share,
        None if text == "pipeline" else gain_us(context, found.time),
        values={"pairs_share": found.pairs_ns / found.exposed_ns * 100},
        evidence=collective_evidence(context, EVIDENCE),
        source={"view": "distributed", "table": "collectives"},
        architecture=context.architecture_name,
        variant=text,
        time=found.time,
        spot=worst_stretch(context, found.time),
        at_stake_us=exposed_us,
    )
