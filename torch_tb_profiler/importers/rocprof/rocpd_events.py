"""What rows with times of a rocpd database refer to: events, tracks, times, threads."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.importers.rocprof.recording import ProcessRecording
from torch_tb_profiler.importers.rocprof.rocpd_tables import (
    Lookup,
    ProcessTables,
    TableRows,
    TextLookup,
)
from torch_tb_profiler.importers.text_codes import TextCodes
from torch_tb_profiler.trace.columns import ABSENT, Int64
from torch_tb_profiler.trace.quality import QualityReport

TRACK = ("pid", "tid", "agent_id", "queue_id", "stream_id", "name_id")
"""What a row says of its process and place, itself or by its track."""

EVENT = ("category_id", "stack_id", "correlation_id")


class Events:
    """The events, tracks, times, processes and threads of a process.

    Args:
        tables: The tables of the process.
    """

    def __init__(self, tables: ProcessTables) -> None:
        self._events = tables["event"]
        self._times = tables["timestamp"]
        self._tracks = tables["track"]
        self._event_ids = Lookup(self._events.ints("id")["id"])
        self._event_columns = self._events.ints(*EVENT)
        self._time_ids = Lookup(self._times.ints("id")["id"])
        self._time_values = self._times.ints("value")["value"]
        self._track_ids = Lookup(self._tracks.ints("id")["id"])
        self._track_columns = self._tracks.ints(*TRACK)
        processes, threads = tables["info_process"], tables["info_thread"]
        self._processes = processes.ints("id", "pid")
        self._process_rows = Lookup(self._processes["id"])
        self._threads = threads.ints("id", "tid")
        self._thread_rows = Lookup(self._threads["id"])

    def located(self, rows: TableRows) -> dict[str, Int64]:
        """Process, thread, agent, queue and stream of rows, as ids of the operating system for the
        first two."""
        own = rows.ints("track_id", *TRACK)
        track = self._track_ids.rows(own["track_id"])
        values = {
            name: np.where(
                own[name] == ABSENT, np.append(self._track_columns[name], ABSENT)[track], own[name]
            )
            for name in TRACK
        }
        return {
            "pid": self.process_ids(values["pid"]),
            "thread": self._thread_ids(values["tid"]),
            "agent": values["agent_id"],
            "queue": values["queue_id"],
            "stream": values["stream_id"],
            "name": values["name_id"],
        }

    def times(self, rows: TableRows, column: str) -> Int64:
        """The times in a column, ``"start"``, or in the rows that ``"start_id"`` refers to."""
        own = rows.ints(column, f"{column}_id")
        referred = self._time_ids.values(own[f"{column}_id"], self._time_values)
        return np.where(own[column] == ABSENT, referred, own[column])

    def of_rows(self, rows: TableRows) -> dict[str, Int64]:
        """The columns of the events that rows refer to; ``row`` is the number of the event."""
        event = self._event_ids.rows(rows.ints("event_id")["event_id"])
        columns = {
            name: np.append(values, ABSENT)[event] for name, values in self._event_columns.items()
        }
        return {**columns, "row": event}

    def extdata(self, event_rows: Int64) -> pl.Series:
        """The documents of events, by the number of their row; null without one."""
        rows = [None if row < 0 else row for row in event_rows.tolist()]
        return self._events.texts("extdata").gather(pl.Series(rows, dtype=pl.Int64))

    def process_ids(self, numbers: Int64) -> Int64:
        """Ids of the operating system for ids of the table of processes."""
        known = self._process_rows.values(numbers, self._processes["pid"])
        return np.where(known == ABSENT, numbers, known)

    def _thread_ids(self, numbers: Int64) -> Int64:
        values = self._thread_rows.values(numbers, self._threads["tid"])
        return np.where(values == ABSENT, numbers, values)


class RocpdContext(Struct, frozen=True):
    """A recording that is being filled from the tables of a process.

    Attributes:
        recording: The recording.
        tables: The tables.
        texts: Receives the texts of the trace.
        quality: Counts records that are not read.
        strings: The texts of the database by id.
        events: The events of the tables.
    """

    recording: ProcessRecording
    tables: ProcessTables
    texts: TextCodes
    quality: QualityReport
    strings: TextLookup
    events: Events

    def codes(self, ids: Int64) -> Int64:
        """The codes of texts of the database, -1 for none and for an empty one."""
        texts, inverse = self.strings.distinct(ids)
        return self.texts.codes(text or None for text in texts).astype(np.int64)[inverse]

    def categories(self, ids: Int64) -> tuple[list[str], Int64]:
        """The names of the distinct categories, and per id the position of its name."""
        categories = self.tables["info_category"]
        lookup = self.strings
        if len(categories):
            lookup = TextLookup(categories.ints("id")["id"], categories.texts("name"))
        texts, inverse = lookup.distinct(ids)
        return [text or "" for text in texts], inverse


def select(columns: dict[str, Int64], rows: Int64) -> dict[str, Int64]:
    """Some rows of columns."""
    return {name: values[rows] for name, values in columns.items()}
