"""Whether kernels could be fused, in a sentence."""

from __future__ import annotations

from torch_tb_profiler.views.answering import counted, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """How many sequences repeat, how much of the kernel time, and what fusing them saves."""
    rows = rows_of(view, "sequences")
    if not rows.height:
        return "No sequence of kernels that could be fused runs three times or more."
    saved, covered = value_of(view, "saved_us"), value_of(view, "covered_pct")
    first = top_row(rows, "saved_us")
    share = "" if covered is None else f" ({percent_text(covered)} of the kernel time)"
    number = counted(rows.height, "sequence")
    verb = "repeats" if rows.height == 1 else "repeat"
    text = f"{number} of kernels {verb} and could be fused{share}"
    if saved is not None:
        text += f", which saves up to {duration_text(saved)} (est.)"
    return f"{text}; most in {quoted(first['sequence'])}." if first else f"{text}."
