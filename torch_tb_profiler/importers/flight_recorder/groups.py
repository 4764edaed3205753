"""Process groups of a dump: those its entries name, and those it lists."""

from __future__ import annotations

from typing import Any

import polars as pl

from torch_tb_profiler.importers.flight_recorder.values import (
    dict_of,
    list_of,
    number_of,
    ranks_of,
    text_of,
)
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

MAX_GROUPS = 4_096
MAX_MEMBERS_OF_ALL = 1 << 20
"""A pickle may repeat one long list for every group."""

GroupKey = tuple[int | None, str, str]
"""Number in the process, name and description."""


class DumpGroups:
    """The groups of one dump, numbered as they are met.

    Attributes:
        left_out: DumpGroups beyond :data:`MAX_GROUPS`.
    """

    def __init__(self) -> None:
        self._rows: dict[GroupKey, int] = {}
        self.left_out = 0

    def number(self, entry: dict[Any, Any]) -> int:
        """The number of the group of an entry; -1 where there are too many groups."""
        named = entry.get("process_group", entry.get("pg_name"))
        if isinstance(named, list | tuple):
            name, description = (text_of(each) for each in (*list_of(named)[:2], "", "")[:2])
        else:
            name, description = text_of(named), ""
        pg_id = number_of(entry.get("pg_id"))
        if not name and pg_id is not None:
            name = str(pg_id)
        return self._row((pg_id, name, description))

    def _row(self, key: GroupKey) -> int:
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= MAX_GROUPS:
                self.left_out += 1
                return -1
            row = self._rows[key] = len(self._rows)
        return row

    def frame(self, values: dict[str, Any]) -> pl.DataFrame:
        """The groups as a table, with members and progress where the dump has them."""
        listed = _listed(dict_of(values.get("pg_config")))
        named = {name for _, name, _ in self._rows}
        for name, (description, _) in listed.items():
            if name not in named:
                self._row((None, name, description))
        status = {text_of(key): dict_of(each) for key, each in _items(values.get("pg_status"))}
        rows = []
        for pg_id, name, description in self._rows:
            listed_text, ranks = listed.get(name, ("", None))
            progress = status.get(str(pg_id), {})
            rows.append(
                (
                    0,
                    pg_id,
                    name,
                    description or listed_text,
                    ranks,
                    *(
                        number_of(progress.get(f"last_{state}_collective"))
                        for state in ("enqueued", "started", "completed")
                    ),
                )
            )
        return pl.DataFrame(rows, SIDE_SCHEMAS["flight_groups"], orient="row")


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(dict_of(value).items())[:MAX_GROUPS]


def _listed(config: dict[Any, Any]) -> dict[str, tuple[str, list[int] | None]]:
    """Name → description and members of the listed groups; gloo lists a nameless one without
    members."""
    listed = {}
    members = 0
    for key, value in _items(config):
        group = dict_of(value)
        name = text_of(group.get("name")) or text_of(key)
        ranks = ranks_of(group.get("ranks", value if isinstance(value, list | tuple) else None))
        members += len(ranks or ())
        if members > MAX_MEMBERS_OF_ALL:
            break
        if name:
            listed[name] = (text_of(group.get("desc")), ranks)
    return listed
