"""Which role waits, for whom, and how long the tail of the rollout is, in two sentences."""

from __future__ import annotations

from torch_tb_profiler.analysis.job_roles.activity import BETWEEN
from torch_tb_profiler.views.answering import counted, joined, quoted, rows_of, top_row
from torch_tb_profiler.views.roles.tables import role_title
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

_SMALL_PCT = 1.0
"""A tail below this share of the generation is not worth a sentence."""


def answer(view: View) -> str | None:
    """The role with the largest bubble, and the last rank of the rollout."""
    return joined((_bubble(view), _tail(view)))


def _bubble(view: View) -> str | None:
    rows = rows_of(view, "roles")
    if not rows.height:
        return None
    known = rows.filter(~rows["role"].is_in([role_title(None)]))
    first = top_row(known.with_columns(cost=known["bubble_us"] * known["workers"]), "cost")
    if first is None:
        return "No role has idle time in what is recorded."
    size = f"{percent_text(first['bubble_pct'])} of its recorded time"
    if first["role"] == role_title(BETWEEN):
        idle = f"Between their roles, {counted(first['workers'], 'rank')} neither compute nor "
        idle += f"communicate for {duration_text(first['bubble_us'])} each"
    else:
        idle = f"{first['role']} ({counted(first['workers'], 'rank')}) neither computes nor "
        idle += f"communicates for {size} ({duration_text(first['bubble_us'])} per rank)"
    if first["other"] is None:
        return f"{idle}."
    share = percent_text(100 * first["other_us"] / first["bubble_us"])
    return f"{idle}; {first['other']} works in {share} of that."


def _tail(view: View) -> str | None:
    longest = top_row(rows_of(view, "generations"), "tail_us")
    if longest is None or longest["tail_pct"] < _SMALL_PCT:
        return None
    return (
        f"In generation {longest['generation']} the last rank ({quoted(longest['last_worker'])}) "
        f"finishes {duration_text(longest['tail_us'])} after the median, "
        f"{percent_text(longest['tail_pct'])} of the generation."
    )
