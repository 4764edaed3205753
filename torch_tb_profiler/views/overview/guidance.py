"""Where to read on: links for people, the same for every trace."""

from __future__ import annotations

import polars as pl

from torch_tb_profiler.knowledge.guidance import guides
from torch_tb_profiler.once import once
from torch_tb_profiler.views.schema import Column, Table, TableSpec

GUIDANCE = TableSpec(
    "guidance",
    "Guidance",
    "Public pages on making programs faster, the same for every trace. Nothing of them is loaded.",
    (
        Column("title", "Topic", "string", None, "What the page is about."),
        Column("text", "What for", "string", None, "What it is good for."),
        Column("url", "Link", "string", None, "Its address."),
    ),
    is_summary=True,
)


@once
def guidance_table() -> Table:
    """The links."""
    rows = [(guide.title, guide.text, guide.url) for guide in guides()]
    return Table(GUIDANCE, pl.DataFrame(rows, schema=GUIDANCE.polars_schema(), orient="row"))
