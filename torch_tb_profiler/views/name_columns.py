"""The columns of a kernel's name: as recorded, short, demangled.

The pages show one of the three under the title of ``name``, as the reader chose; so do terminal
and Markdown. JSON and CSV have all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import polars as pl
from msgspec.structs import replace

from torch_tb_profiler.analysis.recording.kernel_names import kernel_names
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Column, Table

if TYPE_CHECKING:
    from torch_tb_profiler.views.filling import Rows

NameMode = Literal["short", "demangled", "recorded"]
"""Which of its names a kernel is shown by."""

SHORT = "short_name"
DEMANGLED = "demangled_name"
AS_RECORDED = "The recorded name is not mangled."


def _short(rows: Rows) -> pl.Series:
    return kernel_names(rows.trace).short(rows["name_code"])


def _demangled(rows: Rows) -> pl.Series:
    return kernel_names(rows.trace).demangled(rows["name_code"])


OTHER_NAMES = (
    Column(
        SHORT,
        "Short Name",
        "string",
        None,
        "Shortest form of the name that is unique among the kernels of the trace.",
        hidden=True,
        value=_short,
    ),
    Column(
        DEMANGLED,
        "Demangled Name",
        "string",
        None,
        "The name as in the source code, if the recorded one is mangled.",
        hidden=True,
        value=_demangled,
        null_reason=AS_RECORDED,
    ),
)
"""Beside a column ``name`` whose values are names of kernels."""


def other_names(trace: Trace, codes: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The values of :data:`OTHER_NAMES` for name codes; null for names that are not kernels'."""
    names = kernel_names(trace)
    return names.short(codes).alias(SHORT), names.demangled(codes).alias(DEMANGLED)


def with_other_names(table: Table, shorts: Mapping[str, str]) -> Table:
    """``table`` with :data:`OTHER_NAMES`, which it declares, for the kernels in its ``name``.

    Args:
        table: The table, whatever is in these columns.
        shorts: Recorded name → short name of kernels.
    """
    from torch_tb_profiler.knowledge.demangling import demangled  # noqa: PLC0415 - start-up

    names = table.frame["name"]
    texts = {name: demangled(name) for name in names.unique().drop_nulls() if name in shorts}
    mangled = {name: text for name, text in texts.items() if text != name}
    frame = table.frame.with_columns(
        names.replace_strict(shorts, default=None, return_dtype=pl.String).alias(SHORT),
        names.replace_strict(mangled, default=None, return_dtype=pl.String).alias(DEMANGLED),
    )
    reasons = needed(frame, {DEMANGLED: AS_RECORDED})
    return replace(table, frame=frame, null_reasons=table.null_reasons | reasons)


def shown_names(table: Table, mode: NameMode) -> pl.Series | None:
    """Values to show under ``name``: the chosen name of each row, or the recorded one if a row has
    no other; None if the column is shown unchanged."""
    key = {"short": SHORT, "demangled": DEMANGLED}.get(mode)
    if key is None or key not in table.frame.columns or "name" not in table.frame.columns:
        return None
    return table.frame[key].fill_null(table.frame["name"]).alias("name")
