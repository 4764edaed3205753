"""Facts of the model as lower bounds, where much of the device time may be uncounted products.

Definitions: ``docs/views-efficiency.md#mfu``.
"""

from __future__ import annotations

from msgspec.structs import replace

from torch_tb_profiler.knowledge.efficiency import efficiency_file
from torch_tb_profiler.views.schema import Fact

LEAST_KEYS = {"mfu_pct": "mfu_min_pct", "model_flops_per_step": "model_flops_min_per_step"}
"""Key of a fact → that of its lower bound."""


def as_lower_bounds(facts: tuple[Fact, ...], uncounted_pct: float | None) -> tuple[Fact, ...]:
    """The facts of a model; with too much uncounted, those of :data:`LEAST_KEYS` are null and each
    is followed by what they are at least.

    Args:
        facts: As ``model_facts`` gives them.
        uncounted_pct: Share of the kernel time in uncounted kernels; None for no kernels.
    """
    if uncounted_pct is None or uncounted_pct <= efficiency_file().max_uncounted_pct:
        return facts
    reason = (
        f"{uncounted_pct:.3g} % of the kernel time is in kernels that may be products of the model "
        "and whose FLOPs are unknown (no formula, no recorded shapes, or no operator that launched "
        "them): only a lower bound is known."
    )
    bounded: list[Fact] = []
    for fact in facts:
        least_key = LEAST_KEYS.get(fact.key)
        if least_key is None or fact.value is None:
            bounded.append(fact)
            continue
        least = replace(fact, key=least_key, title=f"{fact.title}, at least")
        bounded += (replace(fact, value=None, reason=reason), least)
    return tuple(bounded)
