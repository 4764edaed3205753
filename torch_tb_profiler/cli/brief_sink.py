"""The sink of ``report PATH`` alone: the overview of each recording on one screen."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from torch_tb_profiler.cli.output import output_for
from torch_tb_profiler.cli.sinks import terminal_width, wants_color
from torch_tb_profiler.reports.brief import markdown, terminal
from torch_tb_profiler.reports.brief.content import Brief, brief_of
from torch_tb_profiler.reports.style import COLOURED, PLAIN
from torch_tb_profiler.reports.worst import worst_of
from torch_tb_profiler.requests.errors import LoadingError
from torch_tb_profiler.requests.views import ViewResult

_FOR_TABLES = (
    "view",
    "table",
    "tables",
    "sort",
    "filter",
    "offset",
    "limit",
    "columns",
    "time_unit",
)
"""Options that ask for tables."""


def wants_brief(arguments: Namespace) -> bool:
    """Whether nothing but the path was named: no view, no table, no format for programs."""
    if arguments.format not in ("table", "md") or arguments.all:
        return False
    return all(getattr(arguments, name) is None for name in _FOR_TABLES)


class BriefSink:
    """On stdout, or in one file, the worst recording, after a line for each; into a folder a file
    per recording."""

    def __init__(self, arguments: Namespace, stems: Sequence[str]) -> None:
        """``stems`` are the names of the files without suffix.

        Raises:
            RequestError: a file exists and may not be replaced.
        """
        self._output = output_for(arguments.output, arguments.format, arguments.force)
        self._is_markdown = arguments.format == "md"
        self._width = terminal_width(self._output)
        is_colored = self._output.folder is None and wants_color(arguments.color)
        self._style = COLOURED if is_colored else PLAIN
        self._results: dict[str, ViewResult] = {}
        self._output.refuse_existing(name for stem in stems for name in self.files(stem, ()))

    def files(self, stem: str, _tables: Sequence[str]) -> list[str]:
        """One per answer."""
        return [f"{stem}.{'md' if self._is_markdown else 'txt'}"]

    def add(self, result: ViewResult, stem: str) -> None:
        """Note the overview of one recording."""
        self._results[stem] = result

    def add_error(self, error: LoadingError) -> None:
        """Nothing to write: the error is on stderr."""

    def close(self) -> None:
        """Write the screens."""
        if not self._results:
            return
        briefs = [brief_of(result) for result in self._results.values()]
        if self._output.is_joined:
            worst = worst_of(list(self._results.values()))
            self._output.write("", self._text(briefs, worst))
            self._output.close()
            return
        for stem, brief in zip(self._results, briefs, strict=True):
            (name,) = self.files(stem, ())
            self._output.write(name, self._text([brief], 0))

    def _text(self, briefs: Sequence[Brief], worst: int) -> bytes:
        if self._is_markdown:
            text = markdown.dumps(briefs, worst)
        else:
            text = terminal.dumps(briefs, worst, self._width, self._style)
        return text.encode("utf-8", "replace")
