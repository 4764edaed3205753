"""Whether experts are balanced and what their dispatch and combine cost, in a sentence or two."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.experts import expert_file
from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.quality_notes import listed
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

BALANCED = 1.1
"""Up to this ratio of the largest load to the mean, in the layer where it is largest, experts are
called balanced: of dozens of layers one has that much by chance."""

_NEGLIGIBLE = 0.001
"""A part of the transfers below this share is called none."""


def answer(view: View) -> str | None:
    """The ranks with the largest load and what they cost; hidden and exposed exchange."""
    return joined((_balance(view), _exchange(view)))


def _balance(view: View) -> str | None:
    layers = rows_of(view, "expert_layers")
    by_tokens = top_row(layers, "token_imbalance")
    worst = by_tokens or top_row(layers, "time_imbalance")
    if worst is None:
        if not layers.height:
            return None
        return _sent(rows_of(view, "experts"))
    imbalance = worst["token_imbalance"] if by_tokens else worst["time_imbalance"]
    what = "tokens" if by_tokens else "time of expert GEMMs"
    if imbalance <= BALANCED:
        text = f"Experts are balanced: no rank has more than {imbalance:.2f} × the mean {what}."
        return joined((text, _slow_rank(view) if by_tokens else None))
    steady = _steady(rows_of(view, "expert_ranks"), "token" if by_tokens else "time")
    if steady is not None:
        text = f"{steady} × the mean {what} in nearly every pass"
    else:
        rank = quoted(worst["busiest"] or "one rank")
        text = f"{rank} gets {imbalance:.2f} × the mean {what} in {_layer(worst)}; ranks take turns"
    cost = value_of(view, "imbalance_cost_pct")
    price = f". Waiting costs an estimated {percent_text(cost)} of the step" if cost else ""
    return f"Experts are out of balance: {text}{price}."


def _slow_rank(view: View) -> str | None:
    """A rank whose GEMMs take longer than those of others, though tokens are balanced."""
    ratio = value_of(view, "time_imbalance")
    slowest = top_row(rows_of(view, "expert_ranks"), "time_ratio")
    if slowest is None or ratio is None or ratio <= BALANCED:
        return None
    return (
        f"{quoted(slowest['worker'])} takes {ratio:.2f} × the mean time for its expert GEMMs, "
        "which the tokens do not explain: the ranks page shows whether its device is slow."
    )


def _sent(shares: pl.DataFrame) -> str:
    """What one rank alone knows: to whom it sends its tokens."""
    row = top_row(shares, "token_ratio", pl.col("receiver") == "rank")
    if row is None:
        return "One rank is loaded, so the balance of experts is unknown."
    return (
        f"One rank is loaded. Of its own tokens rank {row['rank']} gets {row['token_ratio']:.2f} × "
        "the mean."
    )


def _steady(ranks: pl.DataFrame, load: str) -> str | None:
    """``"rank1, rank5 and 2 more (expert index 1) get 2.01"``: the ranks that have the largest load
    in nearly all passes; None where ranks take turns."""
    ratio = f"{load}_ratio"
    chosen = ranks.filter(
        pl.col("busiest_pct") >= expert_file().steady_pct, pl.col(ratio) > BALANCED
    ).sort(ratio, descending=True, maintain_order=True)
    if not chosen.height:
        return None
    names = listed([quoted(name) for name in chosen.sort("rank")["worker"].to_list()])
    index = chosen["expert_index"].unique().to_list()
    is_shared = chosen.height > 1 and len(index) == 1 and index[0] is not None
    shared = f" (expert index {index[0]})" if is_shared else ""
    verb = "gets" if chosen.height == 1 else "get up to"
    return f"{names}{shared} {verb} {chosen[ratio][0]:.2f}"


def _layer(row: dict[str, object]) -> str:
    name = str(row["layer"])
    stage = f" of stage {row['stage']}" if row["stage"] is not None else ""
    return f"{name if name.startswith('pass ') else f'layer {quoted(name)}'}{stage}"


def _exchange(view: View) -> str | None:
    whole, exposed = (value_of(view, key) for key in ("exchange_us", "exchange_exposed_us"))
    if whole is None or exposed is None:
        return None
    hidden = whole - exposed
    text = f"Dispatch and combine take {duration_text(whole)} per step"
    if hidden <= _NEGLIGIBLE * whole:
        return f"{text}, none of it hidden behind computation."
    if exposed <= _NEGLIGIBLE * whole:
        return f"{text}, all of it hidden behind computation."
    return (
        f"{text}: {duration_text(hidden)} hidden behind computation, {duration_text(exposed)} "
        "exposed."
    )
