"""The sink of ``--format html``: files to hand on.

With ``--output FILE.html``, or on stdout, one report: of several recordings that of the worst one,
with a line for each. With a folder, one report per recording.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from msgspec.structs import replace

from torch_tb_profiler.cli.output import SUFFIXES, Output, output_for
from torch_tb_profiler.cli.tasks import Task, chosen_views
from torch_tb_profiler.loading.queries.report import report_contents
from torch_tb_profiler.reports.html.document import dumps
from torch_tb_profiler.reports.worst import worst_of
from torch_tb_profiler.requests.errors import LoadingError, RequestError
from torch_tb_profiler.requests.report import ReportContents
from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.querying import complete
from torch_tb_profiler.views.registry import COMPARISON_VIEW, REPORT_VIEWS

_SUFFIX = SUFFIXES["html"]

_NOT_FOR_FILES = ("table", "sort", "filter", "offset", "limit", "columns")


class HtmlSink:
    """Collects the overview of every recording; the reports are written at the end."""

    def __init__(self, arguments: Namespace, tasks: Mapping[str, Task]) -> None:
        """``tasks`` are the requests of the overviews, by the stem of the file of each.

        Raises:
            RequestError: an option has no effect on a report, or a file exists.
        """
        for name in _NOT_FOR_FILES:
            if getattr(arguments, name) is not None:
                option = f"--{name}"
                hint = "Choose what a report shows with --view and --tables."
                raise RequestError("bad_parameter", f"{option} has no effect on a report.", hint)
        self._views: Sequence[str] = REPORT_VIEWS
        if arguments.view is not None:
            self._views = tuple(spec.name for spec in chosen_views(arguments.view))
        self._tables = [name.strip() for name in (arguments.tables or "").split(",") if name]
        self._output = _output(arguments)
        self._tasks = tasks
        self._results: dict[str, ViewResult] = {}
        self._output.refuse_existing(f"{stem}{_SUFFIX}" for stem in tasks)

    def files(self, stem: str, _tables: Sequence[str]) -> list[str]:
        """One per answer, unless the command line names one for all."""
        return [f"{stem}{_SUFFIX}"]

    def add(self, result: ViewResult, stem: str) -> None:
        """Note the overview of one recording."""
        self._results[stem] = result

    def add_error(self, error: LoadingError) -> None:
        """Nothing to write: the error is on stderr."""

    def close(self) -> None:
        """Write the reports.

        Raises:
            LoadingError: a view cannot be computed.
        """
        if not self._results:
            return
        if not self._output.is_joined:
            for stem in self._results:
                self._output.write(f"{stem}{_SUFFIX}", dumps(self._contents(stem)))
            return
        results = list(self._results.values())
        stem = list(self._results)[worst_of(results)]
        contents = self._contents(stem)
        if len(results) > 1:
            contents = replace(contents, recordings=tuple(results))
        self._output.write("", dumps(contents))
        self._output.close()

    def _contents(self, stem: str) -> ReportContents:
        task = self._tasks[stem]
        if task.catalog is None or task.request is None:
            raise task.problem or RequestError("bad_parameter", "There is nothing to report.")
        subject = self._results[stem].subject
        contents = report_contents(task.catalog, subject, self._views, self._tables, wait_s=None)
        address = _command(task.catalog.roots[0].shown_url, self._results[stem])
        return replace(contents, address=address)


class HtmlComparisonSink:
    """Writes one comparison."""

    def __init__(self, arguments: Namespace) -> None:
        """Check that the file can be written.

        Raises:
            RequestError: it exists.
        """
        self._output = _output(arguments)
        self._output.refuse_existing(self.files(COMPARISON_VIEW, ()))

    def files(self, stem: str, _tables: Sequence[str]) -> list[str]:
        """One."""
        return [f"{stem}{_SUFFIX}"]

    def add(self, result: ViewResult, stem: str) -> None:
        """Write the comparison."""
        (name,) = self.files(stem, ())
        whole = {key: complete(table) for key, table in result.view.tables.items()}
        result = replace(result, view=replace(result.view, tables=whole))
        self._output.write(name, dumps(ReportContents((result,))))

    def add_error(self, error: LoadingError) -> None:
        """Nothing to write: the error is on stderr."""

    def close(self) -> None:
        """Write what remains."""
        self._output.close()


def _output(arguments: Namespace) -> Output:
    return output_for(arguments.output, "html", arguments.force)


def _command(location: str, result: ViewResult) -> str:
    """How the pages are opened on the machine that has the recording, and what to look at there."""
    subject = result.subject
    names = {"view": result.spec.name, "run": subject.run, "worker": subject.worker}
    fragment = urlencode({key: value for key, value in names.items() if value})
    return f"torch-tb-profiler open {shlex.quote(location)}  (then #{fragment})"
