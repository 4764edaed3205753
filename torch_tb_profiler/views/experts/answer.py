"""Whether experts are balanced and what their dispatch and combine cost, in a sentence or two."""

from __future__ import annotations

from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View

BALANCED = 1.05
"""Up to this ratio of the largest load to the mean experts are called balanced: a rank that waits
5 % of the products of one layer does not notice it in the step."""


def answer(view: View) -> str | None:
    """The rank with the largest load and what it costs; hidden and exposed exchange."""
    return joined((_balance(view), _exchange(view)))


def _balance(view: View) -> str | None:
    layers = rows_of(view, "expert_layers")
    by_tokens = top_row(layers, "token_imbalance")
    worst = by_tokens or top_row(layers, "time_imbalance")
    if worst is None:
        if not layers.height:
            return None
        return "One rank is loaded, so the balance of experts is unknown."
    imbalance = worst["token_imbalance"] if by_tokens else worst["time_imbalance"]
    what = "tokens" if by_tokens else "time of expert products"
    if imbalance <= BALANCED:
        return f"Experts are balanced: no rank has more than {imbalance:.2f} × the mean {what}."
    rank = quoted(worst["busiest"] or "one rank")
    cost = value_of(view, "imbalance_cost_pct")
    price = f"; it costs an estimated {percent_text(cost)} of the step" if cost else ""
    where = f"in {_layer(worst['layer'])}"
    return (
        f"Experts are out of balance: {rank} has up to {imbalance:.2f} × the mean {what} "
        f"{where}{price}."
    )


def _layer(name: str) -> str:
    return name if name.startswith("pass ") else f"layer {quoted(name)}"


def _exchange(view: View) -> str | None:
    hidden, exposed = (value_of(view, f"exchange_{key}_us") for key in ("hidden", "exposed"))
    if hidden is None or exposed is None:
        return None
    return (
        f"Dispatch and combine take {duration_text(hidden + exposed)} per step: "
        f"{duration_text(hidden)} hidden behind computation, {duration_text(exposed)} exposed."
    )
