"""What goes to the process of a query and comes back."""

from __future__ import annotations

import polars as pl
from msgspec import Struct

from torch_tb_profiler.sql.sources import Source
from torch_tb_profiler.sql.statement import TablePath


class TableShape(Struct, frozen=True):
    """A table as a query sees it.

    Attributes:
        path: Its name in the query.
        columns: Key and type of its columns.
    """

    path: TablePath
    columns: tuple[tuple[str, str], ...]


class TableFiles(Struct, frozen=True):
    """The rows of a table, as files of one part each; the columns that the query does not use are
    not in them."""

    path: TablePath
    files: tuple[str, ...]


class AnswerShape(Struct, frozen=True):
    """The columns of an answer.

    Attributes:
        names: Their names as the query gives them.
        sources: Which columns of tables they are.
        uses_hidden: Whether the query refers to tables whose names it also defines itself.
    """

    names: tuple[str, ...]
    sources: tuple[Source | None, ...]
    uses_hidden: bool = False


class AnswerRows(Struct, frozen=True):
    """The rows of an answer.

    Attributes:
        frame: Columns ``c0`` …, of the four types that columns of views have.
        is_cut: Whether there are more rows.
    """

    frame: pl.DataFrame
    is_cut: bool
