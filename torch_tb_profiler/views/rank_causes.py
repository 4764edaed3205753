"""Causes of slow ranks in words, for the table of them and for findings."""

from __future__ import annotations

from torch_tb_profiler.analysis.ranks.causes import RankCause
from torch_tb_profiler.analysis.ranks.job import RankJob
from torch_tb_profiler.knowledge.rank_causes import cause_text, few_steps_text
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.rank_text import rank_text
from torch_tb_profiler.views.scales import duration_text

MAX_NAMES = 4
"""Of a location that the transfers do not decide so many candidates are named."""


def location_text(cause: RankCause) -> str:
    """Where a cause is: ``"rank 5"``, ``"node n3"``, ``"rank 3 or 7"``; of several ranks that share
    it ``"ranks 4-7"``."""
    names = list(cause.names)
    if cause.level == "rank" and len(names) > 1 and len(cause.ranks) > 1 and not cause.is_open:
        return f"ranks {rank_text(int(name) for name in names)}"
    shown = [str(name) for name in names[:MAX_NAMES]]
    more = len(names) - len(shown)
    joined = " or ".join(shown) + (f" or one of {more} more" if more else "")
    return f"{cause.level} {joined}"


def ranks_text(cause: RankCause, job: RankJob) -> str:
    """The ranks that a cause strikes, all of them."""
    return rank_text((job.numbers[position] for position in cause.ranks.tolist()), MAX_RANKS)


def title(cause: RankCause) -> str:
    """What people call a cause: ``"Slow device"``."""
    return cause_text(cause.cause, cause.variant).title


def sentence(cause: RankCause) -> str:
    """What a cause is, with its figures."""
    text = cause_text(cause.cause, cause.variant).text.format(**_figures(cause))
    basis = few_steps_text(len(cause.steps))
    first, end, rest = text.partition(". ")
    return text if basis is None else f"{first} ({basis}){end}{rest}"


def clause(cause: RankCause) -> str:
    """The same in few words, after "because"."""
    text = cause_text(cause.cause, cause.variant).short.format(**_figures(cause))
    basis = few_steps_text(len(cause.steps))
    return text if basis is None else f"{text} ({basis})"


def _figures(cause: RankCause) -> dict[str, object]:
    values = cause.values
    times = {
        key.removesuffix("_ns"): duration_text(value / NS_PER_US)
        for key, value in values.items()
        if key.endswith("_ns")
    }
    struck = "that rank" if len(cause.ranks) == 1 else f"each of its {len(cause.ranks)} ranks"
    units = int(values.get("units", 0))
    joined = "1 group or pair" if units == 1 else f"{units} groups and pairs"
    return {**values, **times, "on_ranks": struck, "joined": joined}
