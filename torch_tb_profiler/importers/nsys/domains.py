"""Names of NVTX domains."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from torch_tb_profiler.importers.nsys.distinct import distinct_rows
from torch_tb_profiler.importers.nsys.identifiers import global_pid
from torch_tb_profiler.importers.nsys.nvtx import DOMAIN, NvtxEvents
from torch_tb_profiler.importers.sqlite.database import Database
from torch_tb_profiler.trace.columns import Int64

ENTRIES = "NVTX_PAYLOAD_SCHEMA_ENTRIES"
MAX_NAME_CHARS = 200

PAYLOAD_DOMAINS = {"NCCL communicator ID": "NCCL"}
"""Payload entry → its domain, used if the file does not have the domain's creation."""

DEFAULT_DOMAIN = "default"
"""NVTX's name for the domain of ranges without a domain."""


class RangeDomains(Protocol):
    """The domains of ranges of an annotation library.

    Attributes:
        label: Name of the library, which raw categories of its ranges begin with.
    """

    label: ClassVar[str]

    def names(self, events: NvtxEvents) -> tuple[list[str], Int64]:
        """The names of the domains of some events, and per event the position of its domain's
        name."""


class NvtxDomains:
    """Names of domains by process and domain number."""

    label: ClassVar[str] = "nvtx"

    def __init__(self, created: dict[tuple[int, int], str], from_payloads: dict[int, str]) -> None:
        """Collect the known names.

        Args:
            created: (process, number) → name, of domains whose creation was recorded.
            from_payloads: Number → name, of domains with a known payload.
        """
        self._created = created
        self._from_payloads = from_payloads
        in_all: dict[int, set[str]] = {}
        for (_, number), name in created.items():
            in_all.setdefault(number, set()).add(name)
        self._equal = {
            number: next(iter(names)) for number, names in in_all.items() if len(names) == 1
        }

    def name(self, process: int, number: int) -> str:
        """The name of a domain; contains only the number if the name is unknown."""
        if number == 0:
            return DEFAULT_DOMAIN
        known = self._created.get((process, number)) or self._from_payloads.get(number)
        return known or self._equal.get(number) or f"domain {number}"

    def names(self, events: NvtxEvents) -> tuple[list[str], Int64]:
        """The names of the domains of some events, and per event the position of its domain's
        name."""
        (process, number), inverse = distinct_rows(global_pid(events.global_tid), events.domain)
        pairs = zip(process.tolist(), number.tolist(), strict=True)
        return [self.name(*pair) for pair in pairs], inverse


def read_domains(database: Database, events: NvtxEvents) -> NvtxDomains:
    """Read the names of the domains of an export."""
    creations = events.select(np.flatnonzero(events.kind == DOMAIN))
    numbers = zip(
        global_pid(creations.global_tid).tolist(),
        creations.domain.tolist(),
        creations.text.to_list(),
        strict=True,
    )
    created = {
        (process, number): text[:MAX_NAME_CHARS] for process, number, text in numbers if text
    }
    from_payloads = {
        number: PAYLOAD_DOMAINS[entry]
        for number, entry in database.rows(ENTRIES, ["domainId", "name"])
        if isinstance(number, int) and entry in PAYLOAD_DOMAINS
    }
    return NvtxDomains(created, from_payloads)
