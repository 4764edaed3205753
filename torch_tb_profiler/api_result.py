"""The answer to a question of the Python API: tables, facts and notes of a view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from torch_tb_profiler.reports import json, terminal
from torch_tb_profiler.reports.html.inline import message_markup, result_markup, verdict_markup
from torch_tb_profiler.requests.errors import LoadingError, unknown
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.schema import Fact, Note, Series

if TYPE_CHECKING:
    import pandas as pd

NEXT_STEPS = "trace.overview(), trace.report(), trace.operators(), trace.views()"
"""What a notebook suggests below the verdict on a trace."""


class Result:
    """What a view says. ``print`` shows it as the command line does, a notebook as HTML.

    Attributes:
        tables: Table name → polars DataFrame; columns as in ``docs/columns.md``.
        facts: Single numbers with their meaning.
        notes: Advice, and limits of the numbers' quality.
        series: Data of the view's charts, by name.
    """

    def __init__(self, result: ViewResult) -> None:
        """Wrap the answer to one question."""
        self._result = result
        view = result.view
        self.tables: Mapping[str, pl.DataFrame] = {
            name: table.frame for name, table in view.tables.items()
        }
        self.facts: tuple[Fact, ...] = view.facts
        self.notes: tuple[Note, ...] = view.notes
        self.answer: str | None = view.answer
        self.series: Mapping[str, Series] = view.series

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {frame.height} rows" for name, frame in self.tables.items())
        return f"<Result of {self._result.spec.name} ({shapes})>"

    def __str__(self) -> str:
        sides = filter(None, (self._result.subject, self._result.baseline))
        names = [filter(None, (side.run, side.worker, side.span)) for side in sides]
        heading = " against ".join(map(" · ".join, names))
        return terminal.dumps(self._result.spec, self._result.view, heading)

    def _repr_html_(self) -> str:
        return result_markup(self._result)

    @property
    def frame(self) -> pl.DataFrame:
        """The view's first table, which is the one in most views."""
        return self.table()

    def table(self, name: str | None = None) -> pl.DataFrame:
        """A table by name, or the first.

        Raises:
            UnknownError: there is none of that name.
        """
        chosen = name if name is not None else next(iter(self.tables), "")
        if chosen not in self.tables:
            raise unknown("table", chosen, self.tables)
        return self.tables[chosen]

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """A table as a pandas DataFrame; needs the extra ``[pandas]``.

        Raises:
            ModuleNotFoundError: pandas is not installed.
            UnknownError: there is no such table.
        """
        try:
            return self.table(table).to_pandas()
        except ModuleNotFoundError as error:
            message = f"{error}; pip install 'torch-tb-profiler[pandas]'"
            raise ModuleNotFoundError(message, name=error.name) from error

    def to_json(self) -> bytes:
        """What ``report --format json`` prints, in UTF-8."""
        return json.dumps(self._result)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dicts and lists."""
        answer: dict[str, Any] = msgspec.json.decode(self.to_json())
        return answer


def verdict_html(overview: Callable[[], Result]) -> str:
    """What a notebook shows of an opened trace: the verdict, or why there is none.

    Args:
        overview: Asks for the overview of the trace; may raise ``LoadingError``.
    """
    try:
        return verdict_markup(overview()._result, NEXT_STEPS)
    except LoadingError as error:
        return message_markup(f"{error.problem.message} {error.problem.hint or ''}".rstrip())
