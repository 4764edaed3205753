"""What limits the step, in a sentence."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.idle.critical_path.parts import PathPart
from torch_tb_profiler.views.answering import joined, quoted, rows_of, top_row
from torch_tb_profiler.views.critical_path.columns import TITLES
from torch_tb_profiler.views.scales import percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """The two categories with most of the critical path, what of it is unknown where that is as
    much, and the name whose half saves most."""
    categories = rows_of(view, "categories")
    if not categories.height:
        return None
    shown = categories.filter(pl.col("path_us") > 0)
    shown = shown.sort("path_us", descending=True, maintain_order=True).head(2)
    shares = dict(shown.select("title", "pct").iter_rows())
    unknown = shares.pop(TITLES[PathPart.UNKNOWN], None)
    parts = [f"{_inside(title)} ({percent_text(pct)})" for title, pct in shares.items()]
    return joined(
        (
            f"The critical path is mostly {' and '.join(parts)}." if parts else None,
            _not_recorded(unknown),
            _what_if(rows_of(view, "what_if")),
        )
    )


def _not_recorded(unknown: float | None) -> str | None:
    if unknown is None:
        return None
    return (
        f"For {percent_text(unknown)} of it, the recording does not show what the step waits for."
    )


def _inside(title: str) -> str:
    """A title inside a sentence: ``"compute kernels"``, but ``"GPU idle"`` and ``"Python …"``."""
    word = title.split(" ", 1)[0]
    return title if word.isupper() or word == "Python" else title[:1].lower() + title[1:]


def _what_if(rows: pl.DataFrame) -> str | None:
    is_known = pl.col("name") != TITLES[PathPart.UNKNOWN]
    best = top_row(rows, "halve_us", is_known, pl.col("halve_pct") >= 0.05)
    if best is None:
        return None
    saved = percent_text(best["halve_pct"])
    return f"With {quoted(best['name'])} twice as fast the step would be {saved} shorter (est.)."
