"""The table of serving windows.

Definitions: ``docs/views-phases.md#serving-windows``.
"""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.phases.serving import WINDOW_NUMBERS, serving_windows
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.units import microseconds
from torch_tb_profiler.views.call_times import call_columns, time_reasons
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.querying import in_default_order
from torch_tb_profiler.views.schema import Column, Table, TableSpec

NOT_NAMED = "The names of the server's ranges do not contain it."
_HELPS = {
    "context_requests": ("Prompt Requests", "Requests in prefill."),
    "context_tokens": ("Prompt Tokens", "Prompt tokens computed in one window."),
    "generation_requests": ("Generating Requests", "Requests in decode."),
    "generation_tokens": ("Generated Tokens", "Tokens generated in one window."),
}

SERVING_WINDOWS = TableSpec(
    "serving_windows",
    "Serving windows",
    "Scheduler iterations of a server by kind, requests and tokens, from the range names of vLLM "
    "and SGLang; equal ones share a row.",
    (
        Column("kind", "Kind", "string", None, "prefill, decode, or mixed (both)."),
        Column("batch", "Batch", "integer", "count", "Requests in one window."),
        Column("tokens", "Tokens", "integer", "count", "Tokens computed in one window."),
        Column("calls", "Calls", "integer", "count", "Number of windows.", additive=True),
        *(column for column in call_columns("") if not column.key.endswith("_pct")),
        *(Column(key, title, "integer", "count", text) for key, (title, text) in _HELPS.items()),
        Column("server", "Server", "string", None, "Server that named the ranges."),
    ),
    sort="kind,batch,tokens",
    is_summary=True,
    when_empty="The selection holds no scheduler ranges of a server.",
)


def serving_table(trace: Trace, selection: Selection) -> Table:
    """The rows of :data:`SERVING_WINDOWS`, in default order.

    Raises:
        SelectionError: steps or a phase that are not in this trace.
    """
    windows = serving_windows(trace, selection)
    times = [key for key in windows.columns if key.endswith("_ns")]
    frame = windows.rename({"requests": "batch"}).with_columns(
        microseconds(windows[key]).alias(f"{key.removesuffix('_ns')}_us") for key in times
    )
    shown = frame.select(
        pl.col(key).cast(dtype) for key, dtype in SERVING_WINDOWS.polars_schema().items()
    )
    numbers = dict.fromkeys(("batch", "tokens", *WINDOW_NUMBERS), NOT_NAMED)
    reasons = needed(shown, {**numbers, **_of_times(trace, shown)})
    return in_default_order(Table(SERVING_WINDOWS, shown, reasons))


def _of_times(trace: Trace, shown: pl.DataFrame) -> dict[str, str]:
    return {key: text for key, text in time_reasons(trace).items() if key in shown.columns}
