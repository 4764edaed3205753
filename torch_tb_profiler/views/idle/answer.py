"""How much of the time GPUs are idle, and why, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.idle import idle_file
from torch_tb_profiler.views.answering import rows_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The idle share of the GPU, or from the least to the most idle one; the cause of the largest
    part of all idle time; the longest gap."""
    shares = sorted(
        float(fact.value)
        for fact in view.facts
        if fact.key == "idle_pct" and isinstance(fact.value, int | float)
    )
    if not shares:
        return None
    subject = "The GPU is" if len(shares) == 1 else f"The {len(shares)} GPUs are"
    least, most = percent_text(shares[0]), percent_text(shares[-1])
    text = f"{subject} idle {least if least == most else f'{least} to {most}'} of the time"
    causes = rows_of(view, "causes").filter(pl.col("total_us") > 0)
    if causes.height:
        by_cause = causes.group_by("cause", maintain_order=True).agg(pl.col("total_us").sum())
        main = by_cause.sort("total_us", descending=True, maintain_order=True).row(0, named=True)
        because = {cause.key: cause.because for cause in idle_file().causes}[main["cause"]]
        share = main["total_us"] / by_cause["total_us"].sum()
        text += f", {'mostly' if share > 0.5 else 'for the largest part'} because {because}"
    longest = rows_of(view, "gaps")["duration_us"].max()
    if isinstance(longest, float):
        text += f"; the longest gap is {duration_text(longest)}"
    return f"{text}."
