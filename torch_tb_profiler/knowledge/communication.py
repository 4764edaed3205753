"""Collectives: canonical names, the host events that run them, and bandwidth factors."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from torch_tb_profiler.knowledge import kernels
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

BusFactor = Literal["2*(n-1)/n", "(n-1)/n", "1"]


class Collective(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One kind of collective.

    Attributes:
        name: Canonical name, ``"all_reduce"``.
        pattern: Regular expression searched in the lower-cased spelling without its backend.
        examples: Spellings that must match this entry (tests check each).
        size: The buffer of a rank that counts as the size: its input, the larger of input and
            output (``total``), unknown (``none``), or ``nothing`` if it moves no data.
        bus_factor: Factor from algorithm to bus bandwidth; None if it is not defined.
        moves_data: False for bookkeeping records (``init``, ``wait``).
        peer_to_peer: Whether one rank sends and another receives, whatever the group.
    """

    name: str
    pattern: str
    examples: tuple[str, ...]
    size: Literal["input", "total", "none", "nothing"]
    bus_factor: BusFactor | None = None
    moves_data: bool = True
    peer_to_peer: bool = False


class CommunicationFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The schema of ``communication.toml``.

    Attributes:
        backends: Prefixes of the host events of collectives.
        host_backends: Backends whose host events last as long as the transfer.
        wrappers: Regular expression of the whole names of host events around a collective.
        local_namespaces: Namespaces of operators that work on one device.
        max_unrecognized_pct: Times of communication are said to be lower bounds from this share of
            the kernel time on in kernels that nothing recognizes.
        collectives: The kinds, in order.
    """

    backends: tuple[str, ...]
    host_backends: tuple[str, ...]
    wrappers: str
    local_namespaces: tuple[str, ...]
    max_unrecognized_pct: float
    collectives: tuple[Collective, ...]


@once
def communication_file() -> CommunicationFile:
    """The entries of the file."""
    return load("communication.toml", CommunicationFile)


@once
def _compiled() -> tuple[tuple[re.Pattern[str], Collective], ...]:
    return tuple((re.compile(entry.pattern), entry) for entry in communication_file().collectives)


@once
def _by_name() -> dict[str, Collective]:
    return {entry.name: entry for entry in communication_file().collectives}


def backend(name: str) -> str | None:
    """The backend of ``"nccl:all_reduce"``; None for other names."""
    prefix, colon, rest = name.partition(":")
    if not colon or rest.startswith(":") or prefix not in communication_file().backends:
        return None
    return prefix


def is_local_operator(name: str) -> bool:
    """Whether an operator works on one device: a kernel that it launched itself moves no data
    between devices, whatever its name."""
    return name.partition("::")[0] in communication_file().local_namespaces


def runs_on_host(backends: str) -> bool:
    """Whether collectives of a backend last as long as their events on the host.

    Args:
        backends: One backend (``"gloo"``), or several as a process group declares them
            (``"cpu:gloo,cuda:nccl"``); then all of them must.
    """
    names = {part.rpartition(":")[2].strip() for part in backends.lower().split(",")}
    return names <= set(communication_file().host_backends)


def is_communication(name: str) -> bool:
    """Whether a host event of this name is a collective run by its backend.

    Callers and metadata records (``c10d::allreduce_``, ``record_param_comms``) are not: they wrap
    that event, or only enqueue it. For kernels see ``kernels.classify(name).communication``.
    """
    return backend(name) is not None and collective(name) is not None


@once
def _wrapper_pattern() -> re.Pattern[str]:
    return re.compile(communication_file().wrappers)


def is_wrapper(name: str) -> bool:
    """Whether a host event of this name is the caller or the metadata record of a collective."""
    return _wrapper_pattern().fullmatch(name) is not None


@lru_cache(maxsize=65536)
def collective(name: str) -> str | None:
    """The canonical collective of a host event, a kernel or a ``Collective name`` argument.

    None for unknown names, and for kernels that run several collectives.
    """
    if backend(name) is not None:
        text = name.partition(":")[2]
    elif "Kernel" in name or "(" in name or "<" in name:
        if not kernels.classify(name).communication:
            return None
        text = re.sub(r"^void |\(anonymous namespace\)", "", name)
        text = re.split(r"[(<]", text)[0].replace("cross_device_reduce", "all_reduce")
    else:
        text = name
    text = re.sub(r"([a-z])([A-Z])", r"\1_\2", text).lower()
    for pattern, entry in _compiled():
        if pattern.search(text):
            return entry.name
    return None


def names_of_size(*sizes: str) -> list[str]:
    """The canonical names of the collectives with one of these kinds of ``size``."""
    return [entry.name for entry in communication_file().collectives if entry.size in sizes]


def peer_to_peer_names() -> list[str]:
    """The canonical names of sends and receives."""
    return [entry.name for entry in communication_file().collectives if entry.peer_to_peer]


def entry(collective_name: str) -> Collective | None:
    """The entry of a canonical name; None for unknown names."""
    return _by_name().get(collective_name)


def bus_factor(collective_name: str, ranks: int) -> float | None:
    """Bus bandwidth ÷ algorithm bandwidth of a canonical collective among ``ranks`` ranks.

    None if NCCL tests define none, or for fewer than two ranks (nothing crosses a link). Sends and
    receives have two ranks, whatever the size of the group.
    """
    known = entry(collective_name)
    if known is None or known.bus_factor is None:
        return None
    if ranks < 2 and (ranks == 1 or not known.peer_to_peer):
        return None
    if known.bus_factor == "1":
        return 1.0
    share = (ranks - 1) / ranks
    return 2 * share if known.bus_factor == "2*(n-1)/n" else share
