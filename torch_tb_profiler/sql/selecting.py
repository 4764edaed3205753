"""What part of recordings the views of a query are about, and how their rows are grouped."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.reports.headings import selection_texts
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.sql.raw.table import RawTable
from torch_tb_profiler.sql.tables import SqlTable
from torch_tb_profiler.views.schema import Note
from torch_tb_profiler.views.spec import ViewSpec

SHOWN_CHARACTERS = 80


def check_group_by(tables: Iterable[SqlTable], group_by: str | None) -> None:
    """Refuse a grouping that no view of a query has.

    Raises:
        RequestError: none has it; the hint names those that there are.
    """
    specs = _views(tables)
    if group_by is None or any(group_by in spec.group_bys for spec in specs):
        return
    known = [f"{spec.name}: {', '.join(spec.group_bys)}" for spec in specs if spec.group_bys]
    message = f"group_by: no view of the query can be grouped by {group_by[:SHOWN_CHARACTERS]!r}."
    hint = f"Known are {'; '.join(known)}." if known else "Group the rows in the query."
    raise RequestError("bad_parameter", message, hint)


def selection_for(spec: ViewSpec, selection: Selection) -> Selection:
    """The selection for a view: with the grouping where it has that one."""
    if selection.group_by in spec.group_bys:
        return selection
    return replace(selection, group_by=None)


def selection_notes(tables: Iterable[SqlTable], subject: Subject) -> list[Note]:
    """What of a query the selection applies to; nothing where the tables are those of whole
    recordings in their default grouping.

    Args:
        tables: The tables of the query.
        subject: What is selected and asked.
    """
    tables = list(tables)
    texts = ", ".join(selection_texts(subject))
    if not texts or not tables:
        return []
    specs = _views(tables)
    raw = sorted({table.name for table in tables if isinstance(table.source, RawTable)})
    parts = []
    if specs:
        parts.append(f"Tables of views are those of the selection: {texts}.")
    if raw and (not subject.selection.is_everything or not specs):
        parts.append(f"{', '.join(raw)}: whole recordings, whatever is selected ({texts}).")
    group_by = subject.selection.group_by
    others = [spec.name for spec in specs if spec.group_bys and group_by not in spec.group_bys]
    if group_by is not None and others:
        parts.append(f"{', '.join(others)}: default grouping, as there is none by {group_by}.")
    if not parts:
        return []
    evidence: dict[str, object] = {"selection": texts}
    return [Note("quality", "sql_selection", "info", " ".join(parts), evidence)]


def _views(tables: Iterable[SqlTable]) -> list[ViewSpec]:
    """The views of tables, each once."""
    sources = [table.source for table in tables]
    views = {source.name: source for source in sources if isinstance(source, ViewSpec)}
    return list(views.values())
