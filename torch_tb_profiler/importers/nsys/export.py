"""What the readers of an export's tables share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch_tb_profiler.importers.nsys.devices import DeviceNumbers
from torch_tb_profiler.importers.nsys.names import Names
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.nsys.tracks import Tracks
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.info import NotRecorded, What
from torch_tb_profiler.trace.quality import QualityReport


@dataclass(frozen=True, slots=True)
class Export:
    """The database, and what becomes of names, threads, streams and GPUs.

    Attributes:
        database: It.
        names: Texts of the trace.
        tracks: Threads and streams of the trace.
        devices: Numbers of GPUs.
        quality: What was odd.
        lacks: What the recording does not hold, and why.
    """

    database: Database
    names: Names
    tracks: Tracks
    devices: DeviceNumbers
    quality: QualityReport
    lacks: dict[What, str] = field(default_factory=dict)

    def has(self, table: str) -> bool:
        """Whether there is such a table with rows."""
        return table in self.database.tables and self.database.count(table) > 0

    def not_recorded(self) -> tuple[NotRecorded, ...]:
        """What the recording lacks."""
        return tuple(NotRecorded(what, reason) for what, reason in self.lacks.items())


def named(export: Export, ids: Int64, rename: Callable[[str], str] | None = None) -> Int32:
    """Per row the code of its name; rows without one are counted and have a name that says so."""
    codes = export.names.codes_of(ids, rename)
    nameless = codes < 0
    if nameless.any():
        export.quality.add("missing_name", int(nameless.sum()))
        codes[nameless] = export.names.code(UNNAMED)
    return codes
