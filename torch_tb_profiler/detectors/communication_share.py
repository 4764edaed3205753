"""Much of the step is communication that nothing could overlap (rule 4 in docs/advice.md)."""

from __future__ import annotations

from torch_tb_profiler.evidence.collectives import collective_table, summarize_collectives
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.evidence.exposure import (
    can_be_hidden,
    exposure,
    gain_us,
    longest_stretch,
    variant,
)
from torch_tb_profiler.evidence.finding import Finding
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.trace.units import NS_PER_US

CODE = "communication_share"
EVIDENCE = collective_table(CODE)


def detect(context: Context) -> Finding | None:
    """Exposed communication takes more than the threshold of the step, and there is too little
    computation to overlap it with. A finding that names its cause supersedes this one.

    The gain is that time; for sends and receives of a pipeline it is unknown.
    """
    exposed = exposure(context)
    share = context.share_pct(exposed.exposed_ns)
    if share <= entry(CODE).threshold or can_be_hidden(context, exposed):
        return None
    text, exposed_us = variant(context, exposed), exposed.exposed_ns / NS_PER_US
    return Finding(
        CODE,
        share,
        None if text == "pipeline" else gain_us(context, exposed.time),
        values={"pairs_share": exposed.peer_to_peer_ns / exposed.exposed_ns * 100},
        evidence=summarize_collectives(context, EVIDENCE),
        source={"view": "distributed", "table": "collectives", "sort": "-total_us"},
        architecture=context.architecture_name,
        variant=text,
        time=exposed.time,
        spot=longest_stretch(context, exposed.time),
        at_stake_us=exposed_us,
    )
