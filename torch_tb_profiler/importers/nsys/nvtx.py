"""Reads the table of NVTX events."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from torch_tb_profiler.importers.nsys.names import TraceStrings
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import ABSENT, Bools, Float64, Int64
from torch_tb_profiler.trace.quality import QualityReport

EVENTS = "NVTX_EVENTS"
DETAILS = "ANALYSIS_DETAILS"

MARK = (34, 65)
"""``eventType`` of marks: of NVTX and of imported texts (nvtxt)."""
THREAD_NAME = 39
PUSH_POP = (59, 70)
START_END = (60, 71)
DOMAIN = 75

_COLUMNS = ("start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId")
_INTEGERS = ("uint64Value", "int64Value", "uint32Value", "int32Value")
_FLOATS = ("doubleValue", "floatValue")


class NvtxEvents(Struct, frozen=True, eq=False):
    """Rows of the table; arrays are aligned.

    Attributes:
        kind: ``eventType``.
        start_ns: Start, since the start of the capture.
        end_ns: End of ranges; the end of the capture for ranges that were not closed.
        global_tid: The thread.
        end_global_tid: The thread that closed a range, if known.
        domain: Number of the domain in its process, 0 for the default domain.
        text: The text, null for none.
        payload: The numeric payload of an event, NaN for none.
    """

    kind: Int64
    start_ns: Int64
    end_ns: Int64
    global_tid: Int64
    end_global_tid: Int64
    domain: Int64
    text: pl.Series
    payload: Float64

    def __len__(self) -> int:
        return len(self.kind)

    def select(self, rows: Int64) -> NvtxEvents:
        """The events of these rows, which ascend."""
        if len(rows) == len(self):
            return self
        return NvtxEvents(
            self.kind[rows],
            self.start_ns[rows],
            self.end_ns[rows],
            self.global_tid[rows],
            self.end_global_tid[rows],
            self.domain[rows],
            self.text.gather(rows),
            self.payload[rows],
        )

    def ranges(self) -> NvtxEvents:
        """The ranges, nested or not."""
        return self.select(np.flatnonzero(np.isin(self.kind, (*PUSH_POP, *START_END))))

    def marks(self) -> NvtxEvents:
        """The marks."""
        return self.select(np.flatnonzero(np.isin(self.kind, MARK)))

    def is_nested(self) -> Bools:
        """Whether a range nests on its thread: it was pushed and popped there."""
        is_nested: Bools = np.isin(self.kind, PUSH_POP) & ~self.is_cross_thread()
        return is_nested

    def is_cross_thread(self) -> Bools:
        """Whether a range was opened by one thread and closed by another."""
        is_known = self.end_global_tid != ABSENT
        is_cross_thread: Bools = is_known & (self.end_global_tid != self.global_tid)
        return is_cross_thread

    @property
    def has_payload(self) -> Bools:
        """Whether an event has a numeric payload."""
        return ~np.isnan(self.payload)

    def payload_texts(self, rows: Int64) -> list[str]:
        """The payloads of these rows, as texts of lists with one value."""
        return [f"['{value:.15g}']" for value in self.payload[rows].tolist()]


def read_events(
    database: Database, names: TraceStrings, quality: QualityReport
) -> NvtxEvents | None:
    """Read the events with a time and a thread; None if there are none. Issues are counted."""
    if EVENTS not in database.tables:
        return None
    table = database.ints(EVENTS, _COLUMNS)
    whole = np.flatnonzero((table["start"] != ABSENT) & (table["globalTid"] != ABSENT))
    quality.add("event_without_time", len(table["start"]) - len(whole))
    if not len(whole):
        return None
    text = _texts(database, names, table["textId"])
    payload = _payload(database, len(table["start"]))
    events = NvtxEvents(
        kind=table["eventType"],
        start_ns=table["start"],
        end_ns=table["end"],
        global_tid=table["globalTid"],
        end_global_tid=table["endGlobalTid"],
        domain=np.where(table["domainId"] == ABSENT, 0, table["domainId"]),
        text=text,
        payload=payload,
    ).select(whole)
    return _close_ranges(database, events, quality)


def _close_ranges(database: Database, events: NvtxEvents, quality: QualityReport) -> NvtxEvents:
    """Close open ranges at the end of the capture, or at the last event."""
    is_range = np.isin(events.kind, (*PUSH_POP, *START_END))
    is_open = is_range & (events.end_ns == ABSENT)
    quality.add("range_unclosed", int(is_open.sum()))
    quality.add("range_across_threads", int((is_range & events.is_cross_thread()).sum()))
    quality.add("missing_name", int((is_range & events.text.is_null().to_numpy()).sum()))
    if is_open.any():
        capture_ns = database.ints(DETAILS, ["duration"])["duration"]
        last = max(int(column.max()) for column in (events.end_ns, events.start_ns))
        last = max([last, *capture_ns.tolist()])
        end_ns = np.where(is_open, np.maximum(last, events.start_ns), events.end_ns)
        events = replace(events, end_ns=end_ns)
    return events


def _texts(database: Database, names: TraceStrings, text_ids: Int64) -> pl.Series:
    """Per row its text: the text in the row, else the text of its id."""
    inline = database.series(EVENTS, "text")
    missing = inline.is_null().to_numpy()
    known = names.texts_of(np.where(missing, text_ids, ABSENT))
    if known:
        by_id = pl.DataFrame({"id": list(known), "by_id": list(known.values())})
        wanted = pl.DataFrame({"id": text_ids}).join(
            by_id, on="id", how="left", maintain_order="left"
        )
        inline = inline.fill_null(wanted["by_id"])
    if inline.str.contains("\0", literal=True).any():
        inline = inline.str.extract("(?s)^([^\\x00]*)")
    return inline


def _payload(database: Database, size: int) -> Float64:
    present = database.tables[EVENTS]
    columns = [column for column in (*_INTEGERS, *_FLOATS) if column in present]
    payload = np.full(size, np.nan)
    for values in database.floats(EVENTS, columns).values():
        known = payload[: len(values)]
        payload[: len(values)] = np.where(np.isnan(known), values[:size], known)
    return payload


def factorize(texts: pl.Series) -> tuple[pl.Series, Int64]:
    """The distinct texts in order of their first use, and per text its position among them."""
    known = texts.unique(maintain_order=True)
    frame = pl.DataFrame({"text": texts}).join(
        pl.DataFrame({"text": known, "position": np.arange(len(known))}),
        on="text", how="left", maintain_order="left", nulls_equal=True,
    )  # fmt: skip
    return known, frame["position"].to_numpy()


def thread_names(database: Database, names: TraceStrings) -> dict[int, str]:
    """The names that the program gave its threads, by ``globalTid``; the last name counts."""
    if EVENTS not in database.tables:
        return {}
    table = database.ints(EVENTS, ["eventType", "globalTid", "textId"])
    rows = np.flatnonzero((table["eventType"] == THREAD_NAME) & (table["globalTid"] != ABSENT))
    if not len(rows):
        return {}
    texts = _texts(database, names, table["textId"]).gather(rows).to_list()
    threads = table["globalTid"][rows].tolist()
    return {thread: text for thread, text in zip(threads, texts, strict=True) if text}
