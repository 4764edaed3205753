"""Public guides that fit what recorded a trace."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.guidance import guides_for
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import recorder
from torch_tb_profiler.views.schema import Column, Table, TableSpec

GUIDANCE = TableSpec(
    "guidance",
    "Guidance",
    "Public guides on recording and speeding up programs. The links open on other sites; nothing "
    "is loaded from there.",
    (
        Column("title", "Topic", "string", None, "What the page is about."),
        Column("text", "Use", "string", None, "What the page helps with."),
        Column("url", "Link", "string", None, "Address of the page."),
    ),
    is_summary=True,
)


def guidance_table(trace: Trace) -> Table:
    """The links for recordings of what recorded ``trace``."""
    rows = [(guide.title, guide.text, guide.url) for guide in guides_for(recorder(trace))]
    return Table(GUIDANCE, pl.DataFrame(rows, schema=GUIDANCE.polars_schema(), orient="row"))
