"""Names of NVTX domains: whose ranges they hold."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.identifiers import global_pid
from torch_tb_profiler.importers.nsys.nvtx import DOMAIN, NvtxEvents
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import Int64

ENTRIES = "NVTX_PAYLOAD_SCHEMA_ENTRIES"
LONGEST_NAME = 200

PAYLOADS = {"NCCL communicator ID": "NCCL"}
"""Entries of payloads that tell their domain, where its creation is not in the file."""

DEFAULT = "default"
"""The domain of ranges without any, as NVTX calls it."""


class Domains:
    """Names of domains by process and number."""

    def __init__(self, created: dict[tuple[int, int], str], told: dict[int, str]) -> None:
        """``created`` are the domains that the file saw being made, ``told`` those that it shows
        the payloads of."""
        self._created = created
        self._told = told
        everywhere: dict[int, set[str]] = {}
        for (_, number), name in created.items():
            everywhere.setdefault(number, set()).add(name)
        self._equal = {number: next(iter(of)) for number, of in everywhere.items() if len(of) == 1}

    def name(self, process: int, number: int) -> str:
        """The name of a domain, made of its number where nothing tells it."""
        if number == 0:
            return DEFAULT
        known = self._created.get((process, number)) or self._told.get(number)
        return known or self._equal.get(number) or f"domain {number}"

    def names(self, events: NvtxEvents) -> tuple[list[str], Int64]:
        """The names of the domains of some events, and per event its place there."""
        (process, number), place = distinct_rows(global_pid(events.global_tid), events.domain)
        pairs = zip(process.tolist(), number.tolist(), strict=True)
        return [self.name(*pair) for pair in pairs], place


def domain_names(database: Database, events: NvtxEvents) -> Domains:
    """The domains that an export tells of."""
    made = events.at(np.flatnonzero(events.kind == DOMAIN))
    numbers = zip(
        global_pid(made.global_tid).tolist(),
        made.domain.tolist(),
        made.text.to_list(),
        strict=True,
    )
    created = {(process, number): text[:LONGEST_NAME] for process, number, text in numbers if text}
    told = {
        number: PAYLOADS[entry]
        for number, entry in database.rows(ENTRIES, ["domainId", "name"])
        if isinstance(number, int) and entry in PAYLOADS
    }
    return Domains(created, told)
