"""A report of the Python API: one HTML document, to save or to see in a notebook."""

from __future__ import annotations

import os
from pathlib import Path

from torch_tb_profiler.reports.headings import heading_of
from torch_tb_profiler.reports.html.document import dumps, inline_document
from torch_tb_profiler.reports.html.inline import report_frame
from torch_tb_profiler.requests.report import ReportContents

WHOLE = 'The same as a file: trace.report().save("report.html")'
SHORTENED = 'Tables are shortened here. With more rows: trace.report().save("report.html")'


class HtmlReport:
    """A report to hand on. As the last line of a cell it shows itself.

    Attributes:
        html: The document: no script, no network, no second file.
    """

    def __init__(self, contents: ReportContents) -> None:
        """Hold what the report consists of; it is written when needed."""
        self._contents = contents

    @property
    def html(self) -> str:
        """The whole document, as ``report --format html`` writes it."""
        return dumps(self._contents).decode()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the document to a file, which is replaced if it exists.

        Raises:
            OSError: it cannot be written.
        """
        target = Path(path)
        target.write_bytes(dumps(self._contents))
        return target

    def __repr__(self) -> str:
        views = ", ".join(result.spec.name for result in self._contents.results)
        return f"<HtmlReport of {heading_of(self._contents.results[0])} ({views})>"

    def _repr_html_(self) -> str:
        document = inline_document(self._contents)
        message = SHORTENED if document.is_shortened else WHOLE
        return report_frame(document.html, repr(self), message)
