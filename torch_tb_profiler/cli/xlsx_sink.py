"""The sink of ``--format xlsx``: all answers in one workbook."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib.util import find_spec

from torch_tb_profiler.cli.output import output_for
from torch_tb_profiler.reports.headings import heading_of
from torch_tb_profiler.reports.notes import in_reading_order, note_text, title_text
from torch_tb_profiler.reports.xlsx import Sheet, dumps
from torch_tb_profiler.requests.errors import LoadingError, RequestError
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.querying import complete

NAME = "tables.xlsx"
"""The file in a folder."""


class XlsxSink:
    """Collects tables; the workbook is written at the end."""

    def __init__(self, arguments: Namespace, stems: Sequence[str]) -> None:
        """``stems`` name the answers.

        Raises:
            RequestError: XlsxWriter is not installed, the workbook would go to a terminal, or its
                file exists.
        """
        if find_spec("xlsxwriter") is None:
            raise RequestError(
                "missing_package",
                "--format xlsx needs the package XlsxWriter.",
                "Install it: pip install 'torch-tb-profiler[xlsx]'.",
            )
        if arguments.output is None and sys.stdout.isatty():
            raise RequestError(
                "bad_parameter",
                "A workbook cannot be printed on a terminal.",
                "Name its file: --output tables.xlsx.",
            )
        self._output = output_for(arguments.output, "xlsx", arguments.force)
        self._table = arguments.table
        self._names_traces = len(stems) > 1
        self._about: list[tuple[str, str]] = []
        self._sheets: list[Sheet] = []
        self._output.refuse_existing(self.files("", ()))

    def files(self, _stem: str, _tables: Sequence[str]) -> list[str]:
        """One for all answers."""
        return [NAME]

    def add(self, result: ViewResult, stem: str) -> None:
        """Note the tables of one answer, and what it says."""
        view = result.view
        self._about.append((result.spec.title, heading_of(result)))
        if view.answer:
            self._about.append(("", view.answer))
        for note in in_reading_order(view.notes):
            self._about.append((title_text(note) or note.severity, note_text(note)))
        for name, table in view.tables.items():
            if self._table in (None, name):
                title = f"{stem}.{name}" if self._names_traces else name
                self._sheets.append(Sheet(title, complete(table)))

    def add_error(self, error: LoadingError) -> None:
        """Note why an answer is missing."""
        self._about.append(("Error", error.problem.message))

    def close(self) -> None:
        """Write the workbook."""
        if self._sheets:
            self._output.write(NAME, dumps(self._about, self._sheets))
            self._output.close()
