"""Peak rates of the links of GPUs, from the vendors' tables in ``links.toml``.

Definitions: ``docs/views-copies.md#limits``.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.gpus import MAX_NAME_CHARS, specification
from torch_tb_profiler.once import once

_GIGATRANSFERS = {3: 8.0, 4: 16.0, 5: 32.0}
"""PCIe generation → 10^9 transfers per second and lane, one bit each; 128 of 130 are data."""


class LinkEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The links of a GPU model as written in ``links.toml``."""

    pattern: str
    source: str
    examples: tuple[str, ...]
    pcie: int | None = None
    lanes: int = 16
    host: float | None = None
    peer: float | None = None


class LinkFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``links.toml``."""

    links: tuple[LinkEntry, ...]


class LinkRates(msgspec.Struct, frozen=True):
    """Peak rates of a GPU's links: 10^9 bytes per second in one direction.

    Attributes:
        host: To and from the host; None if unknown.
        host_name: Name of that link, ``"PCIe 5.0 x16"``; None likewise.
        peer: To and from another GPU; None if unknown.
        source: The vendor's page.
    """

    host: float | None
    host_name: str | None
    peer: float | None
    source: str


@once
def link_file() -> LinkFile:
    """The entries of the file."""
    return load("links.toml", LinkFile)


def pcie_gb_per_s(generation: int, lanes: int) -> float:
    """Peak rate of some PCIe lanes per direction, 10^9 bytes per second, including packets."""
    return _GIGATRANSFERS[generation] * lanes / 8 * 128 / 130


@lru_cache(maxsize=1024)
def link_rates(device_name: str) -> LinkRates | None:
    """The links of a GPU by its name in a trace; None for an unknown model."""
    for entry in link_file().links:
        if re.search(entry.pattern, device_name[:MAX_NAME_CHARS], re.IGNORECASE):
            if entry.pcie is None:
                name = None if entry.host is None else "NVLink-C2C"
                return LinkRates(entry.host, name, entry.peer, entry.source)
            host = pcie_gb_per_s(entry.pcie, entry.lanes)
            return LinkRates(host, f"PCIe {entry.pcie}.0 x{entry.lanes}", entry.peer, entry.source)
    return None


def copy_limit(device_name: str, kind: str, memory_bytes: int | None = None) -> float | None:
    """Peak rate of copies of a kind (``"HtoD"``, ``"DtoH"``, ``"PtoP"``, ``"DtoD"``) of a GPU, 10^9
    bytes per second; None if unknown. A copy within a device reads and writes its memory, whose
    size tells models of one name apart."""
    if kind == "DtoD":
        known = specification(device_name, memory_bytes)
        return None if known is None else known.bandwidth_gb_per_s / 2
    rates = link_rates(device_name)
    if rates is None:
        return None
    return {"HtoD": rates.host, "DtoH": rates.host, "PtoP": rates.peer}.get(kind)
