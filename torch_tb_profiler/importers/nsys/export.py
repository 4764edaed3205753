"""The context that the readers of an export's tables share."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from torch_tb_profiler.importers.nsys.devices import DeviceNumbers
from torch_tb_profiler.importers.nsys.names import TraceStrings
from torch_tb_profiler.importers.nsys.text import UNNAMED
from torch_tb_profiler.importers.nsys.tracks import NsysTracks
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.info import Capability, NotRecorded
from torch_tb_profiler.trace.quality import QualityReport


class Export(Struct, frozen=True):
    """An export that is being read: database, names, tracks and GPUs.

    Attributes:
        database: The database.
        names: Texts of the trace.
        tracks: Threads and streams of the trace.
        devices: Numbers of the GPUs.
        quality: Issues of the data.
        missing_reasons: What was not recorded → the reason.
    """

    database: Database
    names: TraceStrings
    tracks: NsysTracks
    devices: DeviceNumbers
    quality: QualityReport
    missing_reasons: dict[Capability, str] = field(default_factory=dict)

    def has(self, table: str) -> bool:
        """Whether the table exists and has rows."""
        return table in self.database.tables and self.database.count(table) > 0

    def not_recorded(self) -> tuple[NotRecorded, ...]:
        """What was not recorded, with reasons."""
        return tuple(
            NotRecorded(capability, reason) for capability, reason in self.missing_reasons.items()
        )


def required_names(export: Export, ids: Int64, rename: Callable[[str], str] | None = None) -> Int32:
    """Per row the code of its name; rows without a name are counted and named :data:`UNNAMED`."""
    codes = export.names.codes_of(ids, rename)
    is_unnamed = codes < 0
    if is_unnamed.any():
        export.quality.add("missing_name", int(is_unnamed.sum()))
        codes[is_unnamed] = export.names.code(UNNAMED)
    return codes
