"""What a rocpd database sums to, by SQL in the way of the format's own views."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.helpers.sums import Sums, add_up
from tests.importers.rocprof.json_sums import DIRECTIONS

KINDS = ("region", "sample", "kernel_dispatch", "memory_copy", "pmc_event", "event", "string",
         "track", "timestamp", "info_agent", "info_kernel_symbol", "info_process", "info_thread",
         "info_pmc", "info_category")  # fmt: skip


class Views:
    """A database with views ``all_<kind>`` of the tables of all processes, and with the views
    ``timed_<kind>`` of their rows with times and places, whichever generation they have."""

    def __init__(self, path: Path) -> None:
        self._base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        tables = [
            name
            for (name,) in self._base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        self._base.execute("ATTACH ':memory:' AS second")
        for kind in KINDS:
            parts = [name for name in tables if _kind(name) == kind]
            selected = " UNION ALL ".join(f"SELECT * FROM main.`{name}`" for name in parts)
            if parts:
                self._base.execute(f"CREATE TEMP VIEW all_{kind} AS {selected}")
        self.is_new = any(_kind(name) == "timestamp" for name in tables)
        for kind in ("region", "kernel_dispatch", "memory_copy"):
            self._base.execute(f"CREATE TEMP VIEW timed_{kind} AS {self._timed(kind)}")

    def _timed(self, kind: str) -> str:
        if not self.is_new:
            return f"SELECT * FROM all_{kind}"
        return (
            f"SELECT R.*, T.pid, T.tid, T.agent_id, T.stream_id, S.value AS start, E.value AS end"
            f" FROM all_{kind} R JOIN all_track T ON T.id = R.track_id AND T.guid = R.guid"
            " JOIN all_timestamp S ON S.id = R.start_id AND S.guid = R.guid"
            " JOIN all_timestamp E ON E.id = R.end_id AND E.guid = R.guid"
        )

    def category(self) -> str:
        """The join that gives events their category, as ``C.name``."""
        if self.is_new:
            return "JOIN all_info_category C ON C.id = E.category_id AND C.guid = E.guid"
        return (
            "JOIN (SELECT id, guid, string AS name FROM all_string) C"
            " ON C.id = E.category_id AND C.guid = E.guid"
        )

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query."""
        yield from self._base.execute(query)

    def close(self) -> None:
        self._base.close()


def _kind(table: str) -> str:
    name = table.removeprefix("rocpd_")
    return next((kind for kind in KINDS if name == kind or name.startswith(f"{kind}_0")), "")


EVENT = "JOIN all_event E ON E.id = R.event_id AND E.guid = R.guid"


def kernels(path: Path) -> Sums:
    """Kernels by (device, name), in ns."""
    with closing(Views(path)) as views:
        return add_up(
            ((device, name), duration)
            for device, name, duration in views.rows(
                "SELECT A.type_index, S.display_name, R.end - R.start FROM timed_kernel_dispatch R"
                f" {EVENT}"
                " JOIN all_info_kernel_symbol S ON S.id = R.kernel_id AND S.guid = R.guid"
                " JOIN all_info_agent A ON A.id = R.agent_id AND A.guid = R.guid"
            )
        )


def copies(path: Path, value: str = "bytes") -> Sums:
    """Copies by name, in bytes or ns."""
    amount = "R.size" if value == "bytes" else "R.end - R.start"
    with closing(Views(path)) as views:
        return add_up(
            ((DIRECTIONS[source == "GPU", target == "GPU"],), each)
            for source, target, each in views.rows(
                f"SELECT F.type, T.type, {amount} FROM timed_memory_copy R"
                " JOIN all_info_agent F ON F.id = R.src_agent_id AND F.guid = R.guid"
                " JOIN all_info_agent T ON T.id = R.dst_agent_id AND T.guid = R.guid"
            )
        )


def calls(path: Path) -> Sums:
    """Regions that are no ranges of ROCTx by (process, thread, name), in ns."""
    with closing(Views(path)) as views:
        return add_up(
            ((str(pid), str(tid), name), duration)
            for pid, tid, name, duration in views.rows(
                "SELECT P.pid, H.tid, N.string, R.end - R.start FROM timed_region R"
                f" {EVENT} {views.category()}"
                " JOIN all_string N ON N.id = R.name_id AND N.guid = R.guid"
                " JOIN all_info_process P ON P.id = R.pid AND P.guid = R.guid"
                " JOIN all_info_thread H ON H.id = R.tid AND H.guid = R.guid"
                " WHERE C.name NOT LIKE 'MARKER_CORE%' OR N.string = 'roctxRangePop'"
            )
        )


def launches(path: Path) -> Sums:
    """Kernels and copies by the name of the region of their correlation, in ns."""
    call = (
        f"SELECT min(N.string) FROM timed_region R {EVENT} {{category}}"
        " JOIN all_string N ON N.id = R.name_id AND N.guid = R.guid"
        " WHERE E.stack_id = W.stack_id AND R.guid = W.guid AND (C.name LIKE 'HIP%'"
        " OR C.name LIKE 'HSA%' OR C.name LIKE 'RCCL%')"
    )
    with closing(Views(path)) as views:
        rows: list[tuple[tuple[Any, ...], int]] = []
        for kind in ("kernel_dispatch", "memory_copy"):
            work = (
                "SELECT R.guid, E.stack_id, R.end - R.start AS duration"
                f" FROM timed_{kind} R {EVENT}"
            )
            named = call.format(category=views.category())
            rows += [
                ((name,), duration)
                for name, duration in views.rows(f"SELECT ({named}), W.duration FROM ({work}) W")
            ]
        return add_up(rows)


def counters(path: Path) -> Sums:
    """Counters by (kernel, counter), summed per kernel first."""
    with closing(Views(path)) as views:
        return add_up(
            ((kernel, counter), value)
            for kernel, counter, value in views.rows(
                "SELECT S.display_name, I.name, sum(V.value) FROM all_pmc_event V"
                " JOIN all_kernel_dispatch R ON R.event_id = V.event_id AND R.guid = V.guid"
                " JOIN all_info_kernel_symbol S ON S.id = R.kernel_id AND S.guid = R.guid"
                " JOIN all_info_pmc I ON I.id = V.pmc_id AND I.guid = V.guid"
                " GROUP BY R.guid, R.event_id, I.name"
            )
        )
