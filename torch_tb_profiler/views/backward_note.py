"""A note on ranges around backward passes, which launch their work on another thread."""

from __future__ import annotations

from torch_tb_profiler.analysis.operators.summaries.backward_elsewhere import backward_elsewhere
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import NS_PER_US
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note

_SHOWN = 3


def backward_note(trace: Trace, selection: Selection) -> tuple[Note, ...]:
    """That the GPU times of some ranges leave a backward pass out that ran during them.

    Raises:
        SelectionError: steps that are malformed or not in this trace.
    """
    rows = backward_elsewhere(trace, selection).rows(named=True)
    if not rows:
        return ()
    named = ", ".join(
        f"{row['name'][:80]!r} {duration_text(row['elsewhere_ns'] / NS_PER_US)} besides its own "
        f"{duration_text(row['gpu_ns'] / NS_PER_US)}"
        for row in rows[:_SHOWN]
    )
    more = f", and {len(rows) - _SHOWN} more ranges" if len(rows) > _SHOWN else ""
    text = (
        "GPU times of ranges are of what their own thread launched. Autograd launches the backward "
        f"pass on another thread: while these ranges lasted, it launched {named}{more}."
    )
    evidence: dict[str, object] = {
        "ranges": [row["name"] for row in rows],
        "columns": ["gpu_total_us", "gpu_pct"],
    }
    return (Note("quality", "backward_on_another_thread", "info", text, evidence),)
