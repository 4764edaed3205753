"""Questions as typed values: what is looked at, and what is asked about it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from torch_tb_profiler.analysis.selection import Selection


class Subject(Struct, frozen=True):
    """What is looked at: names of a run, worker and span (None: the first), and which part.

    Attributes:
        parameters: What else is asked: key → text of the parameters that views declare. Each view
            takes its own and leaves the others.
    """

    run: str | None = None
    worker: str | None = None
    span: str | None = None
    selection: Selection = field(default_factory=Selection)
    parameters: Mapping[str, str] = field(default_factory=dict)


class TableQuery(Struct, frozen=True):
    """Sort, filter and paging (``views.querying``) of one table; ``table`` None is the first.

    Attributes:
        only: Names of the tables that are wanted; empty for all.
    """

    table: str | None = None
    sort: str | None = None
    filter: str | None = None
    offset: int = 0
    limit: int | None = None
    only: tuple[str, ...] = ()

    @property
    def changes_nothing(self) -> bool:
        """True when every row is wanted in its own order."""
        return not (self.sort or self.filter or self.offset) and self.limit is None


class ViewRequest(Struct, frozen=True):
    """One question: a view of a subject, and when it is a pair view of a baseline, and of a third
    side if there is one; without its findings where they may come ``findings_later`` and take
    long."""

    view: str
    subject: Subject = field(default_factory=Subject)
    baseline: Subject | None = None
    third: Subject | None = None
    rows: TableQuery = field(default_factory=TableQuery)
    findings_later: bool = False
