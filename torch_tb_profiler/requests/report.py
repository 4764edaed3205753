"""The contents of a report to hand on: the answers of several views about one recording."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.requests.views import ViewResult
from torch_tb_profiler.views.timeline.picture import Picture


class ReportSource(Struct, frozen=True):
    """The file that a report is about.

    Attributes:
        name: Its name.
        path: Where it is, as the person named it.
        size_bytes: Its size; None where it is a folder.
        format: Its format; None where it is not known.
        recorded_s: When it was recorded, in seconds since 1970; None where nothing says.
    """

    name: str
    path: str
    size_bytes: int | None = None
    format: str | None = None
    recorded_s: float | None = None


class ReportContents(Struct, frozen=True):
    """A report.

    Attributes:
        results: The views, each with the rows that were asked for; the first one answers what the
            report is about.
        sources: The files, for a comparison the baseline first.
        pictures: Stretches of the timeline: of the first finding, and of the notes of a person.
        address: Where the pages show it live, or the command that serves them; None for neither.
        recordings: The first view of all recordings, if the report is that of one of several.
    """

    results: tuple[ViewResult, ...]
    sources: tuple[ReportSource, ...] = ()
    pictures: tuple[Picture, ...] = ()
    address: str | None = None
    recordings: tuple[ViewResult, ...] = ()
