"""Entries of a dump → columns."""

from __future__ import annotations

from typing import Any

import polars as pl

from torch_tb_profiler.importers.flight_recorder.groups import DumpGroups
from torch_tb_profiler.importers.flight_recorder.stacks import DumpStacks
from torch_tb_profiler.importers.flight_recorder.values import (
    dict_of,
    list_of,
    number_of,
    text_of,
    time_of,
)
from torch_tb_profiler.trace.flight_tables import FLIGHT_STATES
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

MAX_CALLS = 20_000
_TRANSFERS = ("send", "recv")

Call = tuple[str, str, str, str, str]


class DumpEntries:
    """The entries of one dump, with what they share.

    Attributes:
        groups, stacks: Numbered as the entries are read.
        damaged: DumpEntries that are none.
    """

    def __init__(self) -> None:
        self.groups = DumpGroups()
        self.stacks = DumpStacks()
        self.damaged = 0
        self._calls: dict[Call, int] = {}
        self._rows: list[tuple[Any, ...]] = []

    def add(self, value: Any) -> None:
        """Add an entry as the file has it; what is no entry is counted."""
        entry = dict_of(value)
        operation = text_of(entry.get("profiling_name"))
        if not operation:
            self.damaged += 1
            return
        is_transfer = entry.get("is_p2p")
        if not isinstance(is_transfer, bool):
            is_transfer = operation.partition(":")[2].startswith(_TRANSFERS)
        collective = number_of(entry.get("collective_seq_id", entry.get("seq_id")))
        transfer = number_of(entry.get("p2p_seq_id"))
        state = entry.get("state")
        self._rows.append(
            (
                0,
                self.groups.number(entry),
                self._call(entry, operation),
                self.stacks.number(entry.get("frames")),
                number_of(entry.get("record_id", entry.get("id"))),
                transfer if is_transfer and transfer else collective,
                number_of(entry.get("op_id")),
                is_transfer,
                FLIGHT_STATES.index(state) if state in FLIGHT_STATES else None,
                entry.get("retired") is True,
                time_of(entry.get("time_created_ns", entry.get("time_created_us"))),
                time_of(entry.get("time_discovered_started_ns")),
                time_of(entry.get("time_discovered_completed_ns")),
                number_of(entry.get("timeout_ms")),
                text_of(entry.get("thread_name"), 80) or None,
            )
        )

    def _call(self, entry: dict[Any, Any], operation: str) -> int:
        call = (
            operation,
            _sizes(entry.get("input_sizes")),
            _sizes(entry.get("output_sizes")),
            _types(entry.get("input_dtypes")),
            _types(entry.get("output_dtypes")),
        )
        number = self._calls.get(call)
        if number is None:
            if len(self._calls) >= MAX_CALLS:
                return -1
            number = self._calls[call] = len(self._calls)
        return number

    def frame(self) -> pl.DataFrame:
        """The entries as a table."""
        return pl.DataFrame(self._rows, SIDE_SCHEMAS["flight_entries"], orient="row")

    def calls_frame(self) -> pl.DataFrame:
        """The distinct calls as a table."""
        return pl.DataFrame(list(self._calls), SIDE_SCHEMAS["flight_calls"], orient="row")


def _sizes(value: Any) -> str:
    """``"[[8, 4], [2]]"``; of a long list of tensors the beginning."""
    tensors = []
    for each in list_of(value)[:100]:
        numbers = (number_of(size) for size in list_of(each)[:20])
        tensors.append(
            "[" + ", ".join("?" if size is None else str(size) for size in numbers) + "]"
        )
    return "[" + ", ".join(tensors) + "]"


def _types(value: Any) -> str:
    """``"Float, BFloat16"``; one where all are the same."""
    names = [text_of(each, 40) for each in list_of(value)[:100]]
    return ", ".join(names[:1] if len(set(names)) == 1 else names)
