"""Communication that could overlap with computation but does not."""

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
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.collectives import ALL_STEPS
from torch_tb_profiler.views.scales import duration_text

CODE = "exposed_communication"
EVIDENCE = collective_table(CODE)


def detect(context: Context) -> Finding | None:
    """Exposed communication takes more than the threshold of the step, and computation without
    communication could overlap most of it: the gain is the smaller of both.

    Sends and receives of a pipeline belong to its schedule; the gain of another one is unknown.
    """
    exposed = exposure(context)
    if not can_be_hidden(context, exposed):
        return None
    text = variant(context, exposed)
    hidden_us = min(exposed.exposed_ns, exposed.compute_only_ns) / NS_PER_US
    saved_us = None if text == "pipeline" else gain_us(context, exposed.time)
    exposed_share = exposed.exposed_ns / exposed.total_ns * 100
    return Finding(
        CODE,
        context.share_pct(exposed.exposed_ns),
        None if saved_us is None else min(saved_us, hidden_us),
        values={
            "exposed_share": exposed_share,
            "overlappable": duration_text(hidden_us),
            "pairs_share": exposed.peer_to_peer_ns / exposed.exposed_ns * 100,
        },
        evidence=summarize_collectives(context, EVIDENCE),
        source={
            "view": "distributed",
            "table": "overlap",
            "filter": f"step={ALL_STEPS}",
            "sort": "-communication_us",
        },
        architecture=context.architecture_name,
        variant=text,
        time=exposed.time,
        spot=longest_stretch(context, exposed.time),
        at_stake_us=hidden_us,
    )
