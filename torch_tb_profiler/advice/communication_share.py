"""Much of the step is communication (rule 4 of peer-behaviour §3.3)."""

from __future__ import annotations

from torch_tb_profiler.advice.communication_rows import collective_rows
from torch_tb_profiler.advice.context import Context
from torch_tb_profiler.advice.found import Advice
from torch_tb_profiler.knowledge.advice import entry
from torch_tb_profiler.views.roles import Role

CODE = "communication_share"


def detect(context: Context) -> Advice | None:
    """Communication, where no kernel or copy runs, takes more than the threshold of the step."""
    spent_ns = context.role_ns(Role.COMMUNICATION)
    share = context.share_pct(spent_ns)
    if share <= entry(CODE).threshold:
        return None
    return Advice(
        CODE,
        share,
        spent_ns / 1000,
        rows=collective_rows(context),
        source={"view": "distributed", "table": "collectives"},
        architecture=context.architecture_name,
    )
