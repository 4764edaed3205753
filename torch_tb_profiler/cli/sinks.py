"""Sinks for answers: one class per output format, to stdout, into a file or a folder."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.cli.arguments import ALL_ROWS
from torch_tb_profiler.cli.exits import print_warning
from torch_tb_profiler.cli.output import Output, output_for
from torch_tb_profiler.reports import csv, json, markdown, terminal
from torch_tb_profiler.reports.headings import heading_of
from torch_tb_profiler.reports.notes import note_text
from torch_tb_profiler.reports.style import COLOURED, PLAIN
from torch_tb_profiler.reports.terminal import TextLayout
from torch_tb_profiler.reports.two_sides import on_two_sides
from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.encoding import encode
from torch_tb_profiler.requests.errors import LoadingError, RequestError
from torch_tb_profiler.requests.general import ErrorAnswer
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.querying import complete
from torch_tb_profiler.views.schema import View

DEFAULT_ROWS = 20
"""Default number of rows in table and md; the rest is counted, ``--limit`` shows more."""


class Sink(Protocol):
    """Receives answers one after the other."""

    def files(self, stem: str, tables: Sequence[str]) -> list[str]:
        """File names for an answer with these tables."""

    def add(self, result: ViewResult, stem: str) -> None:
        """Write one answer; ``stem`` is its file name without suffix."""

    def add_error(self, error: LoadingError) -> None:
        """Record that an answer failed; the caller prints the error on stderr."""

    def close(self) -> None:
        """Write what remains."""


class JsonSink:
    """The HTTP answer; several are an array, in the order of traces and views."""

    def __init__(self, output: Output, several_answers: bool) -> None:
        self._output = output
        self._is_array = several_answers and output.is_joined
        self._count = 0

    def files(self, stem: str, _tables: Sequence[str]) -> list[str]:
        """One per answer."""
        return [f"{stem}.json"]

    def add(self, result: ViewResult, stem: str) -> None:
        """Write one answer immediately."""
        self._write(f"{stem}.json", json.dumps(result))

    def add_error(self, error: LoadingError) -> None:
        """Write an error in place of its answer."""
        if self._output.is_joined:
            self._write("", encode(ErrorAnswer(error=error.problem)))

    def close(self) -> None:
        """End the array."""
        if self._is_array:
            self._output.write("", b"\n]\n" if self._count else b"[]\n")
        self._output.close()

    def _write(self, name: str, data: bytes) -> None:
        if self._is_array:
            data = (b",\n" if self._count else b"[\n") + data
        else:
            data += b"\n"
        self._count += 1
        self._output.write(name, data)


class CsvSink:
    """One file per table; a single table may go to stdout."""

    def __init__(self, output: Output, table: str | None) -> None:
        self._output = output
        self._table = table

    def files(self, stem: str, tables: Sequence[str]) -> list[str]:
        """One per table."""
        return [f"{stem}.{table}.csv" for table in self._chosen(tables)]

    def add(self, result: ViewResult, stem: str) -> None:
        """Write the tables of one answer."""
        tables = result.view.tables
        is_joined = self._output.is_joined
        names = self._chosen(
            [
                name
                for name, table in tables.items()
                if name == self._table or not (is_joined and table.spec.is_summary)
            ]
        )
        for name, file in zip(names, self.files(stem, names), strict=True):
            self._output.write(file, csv.dumps(complete(tables[name])))
        # CSV has no place for quality notes.
        for note in result.view.notes:
            if note.kind == "quality":
                print_warning(f"{heading_of(result)}: {note_text(note)}")

    def _chosen(self, tables: Sequence[str]) -> list[str]:
        return [table for table in tables if self._table in (None, table)]

    def add_error(self, error: LoadingError) -> None:
        """Nothing to write: no row represents an error."""

    def close(self) -> None:
        """Write what remains."""
        self._output.close()


class RowLimits(Struct, frozen=True):
    """Maximum number of rows printed per table.

    Attributes:
        limit: Maximum number of rows; None for all.
        table: The only table that ``limit`` applies to (others: :data:`DEFAULT_ROWS`); None for
            all.
    """

    limit: int | None
    table: str | None = None

    def for_table(self, name: str) -> int | None:
        """Maximum number of rows of a table; None for all."""
        return self.limit if self.table in (None, name) else DEFAULT_ROWS


class TextSink:
    """Tables for a terminal, or Markdown."""

    def __init__(
        self, output: Output, *, is_markdown: bool, rows: RowLimits, layout: TextLayout
    ) -> None:
        self._output = output
        self._is_markdown = is_markdown
        self._rows = rows
        self._layout = layout
        self._count = 0

    def files(self, stem: str, _tables: Sequence[str]) -> list[str]:
        """One per answer."""
        return [f"{stem}.{'md' if self._is_markdown else 'txt'}"]

    def add(self, result: ViewResult, stem: str) -> None:
        """Write one answer."""
        view = _limit_rows(result.view, self._rows)
        spec, heading, layout = result.spec, heading_of(result), self._layout
        if self._is_markdown:
            text = markdown.dumps(
                spec, view, heading, layout.columns, layout.names, time_unit=layout.time_unit
            )
        else:
            if layout.columns is None:
                view = on_two_sides(view)
            text = terminal.dumps(spec, view, heading, layout)
        if self._count and self._output.is_joined:
            text = "\n" + text
        self._count += 1
        (name,) = self.files(stem, ())
        self._output.write(name, text.encode("utf-8", "replace"))

    def add_error(self, error: LoadingError) -> None:
        """Nothing to write: the error is on stderr."""

    def close(self) -> None:
        """Write what remains."""
        self._output.close()


def split_names(text: str | None) -> list[str] | None:
    """The comma-separated names in an option; None if it is not given."""
    return None if text is None else [key.strip() for key in text.split(",") if key.strip()]


def check_csv(
    table: str | None, tables: Sequence[str], output: Output, several_answers: bool
) -> None:
    """Reject CSV of more than one table on stdout, or in one file.

    Raises:
        RequestError: there would be several tables.
    """
    if not output.is_joined or (not several_answers and (table is not None or len(tables) == 1)):
        return
    hint = "Write them into a folder with --output DIR"
    hint += "." if several_answers else f", or choose one with --table ({', '.join(tables)})."
    raise RequestError(
        "bad_parameter", "CSV on stdout, or in one file, can hold only one table.", hint
    )


def make_sink(arguments: Namespace, planned: Sequence[tuple[str, Sequence[str]]]) -> Sink:
    """The sink for the chosen format.

    Args:
        arguments: The command line.
        planned: The expected answers: file name without suffix, and names of the tables.

    Raises:
        RequestError: several tables as CSV on stdout, an invalid limit, or a file that exists and
            may not be replaced.
    """
    output = output_for(arguments.output, arguments.format, arguments.force)
    sink = _sink(arguments, planned, output)
    output.refuse_existing(file for plan in planned for file in sink.files(*plan))
    return sink


def _sink(
    arguments: Namespace, planned: Sequence[tuple[str, Sequence[str]]], output: Output
) -> Sink:
    several_answers = len(planned) > 1
    if arguments.format == "json":
        return JsonSink(output, several_answers)
    if arguments.format == "csv":
        tables = list(dict.fromkeys(table for _, tables in planned for table in tables))
        check_csv(arguments.table, tables, output, several_answers)
        return CsvSink(output, arguments.table)
    layout = TextLayout(
        width=terminal_width(output),
        columns=split_names(arguments.columns),
        sort=arguments.sort,
        names=arguments.names,
        time_unit=getattr(arguments, "time_unit", None),
        style=COLOURED if output.folder is None and wants_color(arguments.color) else PLAIN,
    )
    return TextSink(
        output,
        is_markdown=arguments.format == "md",
        rows=RowLimits(_max_rows(arguments.limit), arguments.table),
        layout=layout,
    )


def wants_color(choice: str) -> bool:
    """Whether to use colors on stdout: with ``auto`` on terminals that support them, unless
    ``NO_COLOR`` is set (https://no-color.org)."""
    if choice != "auto":
        return choice == "always"
    is_dumb = os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_dumb and not os.environ.get("NO_COLOR")


def _max_rows(limit: str | None) -> int | None:
    if limit is None:
        return DEFAULT_ROWS
    if limit == ALL_ROWS:
        return None
    if not (limit.isascii() and limit.isdigit()):
        raise RequestError("bad_parameter", f"limit: {limit[:40]!r} is neither a number nor 'all'.")
    return parameters.count({"limit": limit}, "limit")


def _limit_rows(view: View, rows: RowLimits) -> View:
    tables = {}
    for name, table in view.tables.items():
        total = table.frame.height if table.row_count is None else table.row_count
        limit = rows.for_table(name)
        has_rows = limit is not None and limit <= table.frame.height
        completed = table if has_rows else complete(table)
        frame = completed.frame if limit is None else completed.frame.head(limit)
        tables[name] = replace(completed, frame=frame, row_count=total)
    return replace(view, tables=tables)


def terminal_width(output: Output) -> int:
    """Cells per line: those of the terminal, 100 elsewhere."""
    if output.folder is not None or not sys.stdout.isatty():
        return terminal.DEFAULT_WIDTH
    return shutil.get_terminal_size((terminal.DEFAULT_WIDTH, 24)).columns
