"""Which rank stands out, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.views.answering import counted, joined, quoted, rows_of
from torch_tb_profiler.views.programs import programs_sentence
from torch_tb_profiler.views.scales import percent_text
from torch_tb_profiler.views.schema import View

WHEN = {
    "some steps": "in some steps",
    "one step": "in one step",
    "from a step on": "from a step on",
}
"""Patterns of causes inside a sentence."""


def answer(view: View) -> str | None:
    """What costs most of the steps; else which ranks stand out, or how far step times differ."""
    ranks = rows_of(view, "ranks")
    if ranks.height == 1:
        return "Only one rank is loaded: there is none to compare it with."
    causes = rows_of(view, "slow_ranks")
    several = programs_sentence(view)
    text = _cause(causes) if causes.height else _differences(view, ranks, several is not None)
    return joined((text, several))


def _differences(view: View, ranks: pl.DataFrame, is_of_several: bool) -> str:
    own = ranks.filter(pl.col("outliers").is_not_null())
    if own.height:
        return _outliers(own, ranks.height)
    patterns = rows_of(view, "patterns").drop_nulls("differs_in")
    spread = "" if is_of_several else _spread(ranks)
    if patterns.height:
        return f"No rank stands out, but not all behave alike: {_second(patterns)}{spread}"
    return f"No rank stands out.{spread}"


def _cause(causes: pl.DataFrame) -> str:
    """The most expensive cause, and how many more there are."""
    first = causes.row(0, named=True)
    location = first["location"][:1].upper() + first["location"][1:]
    when = "" if first["pattern"] in ("steady", None) else f", {WHEN[first['pattern']]}"
    costs = "cost" if location.startswith("Ranks ") else "costs"
    others = causes.height - 1
    more = f" {counted(others, 'more cause')} in the table." if others else ""
    evidence = first["evidence"].partition(". ")[0]
    return (
        f"{location} {costs} {percent_text(first['cost_pct'])} of the step time (est.{when}): "
        f"{evidence[:1].lower()}{evidence[1:]}.{more}"
    )


def _outliers(own: pl.DataFrame, count: int) -> str:
    first = own.row(0, named=True)
    name = quoted(first["worker"]) if first["rank"] is None else f"Rank {first['rank']}"
    if own.height == 1:
        return f"{name} of {counted(count, 'rank')} stands out: {first['outliers']}."
    return (
        f"{own.height:,} of {counted(count, 'rank')} stand out. {name}, for example: "
        f"{first['outliers']}."
    )


def _second(patterns: pl.DataFrame) -> str:
    """The first pattern that differs, and how many more there are."""
    other = patterns.row(0, named=True)
    more = f" (and {patterns.height - 1:,} more patterns)" if patterns.height > 1 else ""
    others = counted(other["rank_count"], "rank")
    return f"in {others} ({other['ranks']}), {other['differs_in']}{more}."


def _spread(ranks: pl.DataFrame) -> str:
    times = ranks["step_us"].drop_nulls()
    lowest, highest = times.min(), times.max()
    if not isinstance(lowest, float) or not isinstance(highest, float) or lowest <= 0:
        return ""
    return f" Step times differ by at most {percent_text(100 * (highest - lowest) / lowest)}."
