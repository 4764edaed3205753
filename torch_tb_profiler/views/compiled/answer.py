"""What graphs and compiled code ran, in a sentence."""

from __future__ import annotations

from torch_tb_profiler.views.answering import counted, joined, quoted, rows_of, top_row, value_of
from torch_tb_profiler.views.scales import duration_text, percent_text
from torch_tb_profiler.views.schema import View


def answer(view: View) -> str | None:
    """Launches of graphs and their gaps, compilations, and the largest generated kernel."""
    return joined((_graphs(view), _compilations(view), _triton(view)))


def _graphs(view: View) -> str | None:
    launches = value_of(view, "graph_launches")
    if not launches:
        return None
    text = counted(launches, "graph launch", "graph launches")
    share, gaps = (value_of(view, key) for key in ("graph_time_pct", "graph_gaps_pct"))
    if share is not None:
        text += f" run{'s' if launches == 1 else ''} {percent_text(share)} of the GPU time"
    return f"{text}, with gaps of {percent_text(gaps)} inside." if gaps is not None else f"{text}."


def _compilations(view: View) -> str | None:
    count = value_of(view, "compilations")
    if not count:
        return None
    again, breaks = (value_of(view, key) or 0 for key in ("recompilations", "graph_breaks"))
    text = f"torch.compile runs {counted(count, 'compilation')}"
    text += f" ({counted(again, 'recompilation')})" if again else ""
    time = value_of(view, "compiling_us")
    text += f" in {duration_text(time)}" if time else ""
    return f"{text}, with {counted(breaks, 'graph break')}." if breaks else f"{text}."


def _triton(view: View) -> str | None:
    first = top_row(rows_of(view, "triton_kernels"), "total_us")
    if first is None:
        return None
    share = percent_text(first["total_pct"])
    return f"{quoted(first['name'])} takes {share} of the time of generated kernels."
