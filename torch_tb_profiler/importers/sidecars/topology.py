"""``topology.toml`` and ``topology.csv``: on which node each rank ran, and behind which switch.

TOML: ``[nodes]`` and ``[switches]``, each ``name = members``. Members are a text of ranks
(``"0-7, 12"``), a rank, or a list of these; of a node also names of workers, of a switch also names
of nodes. CSV: a head with ``rank`` or ``worker``, then ``node`` and ``switch``, in any order.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from torch_tb_profiler.importers.sidecars.annotations import SidecarError
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.rank_topology import RankTopology

TOPOLOGY_NAMES = ("topology.toml", "topology.csv")
"""Names of the file, the first one that exists counts."""
MAX_BYTES = 4 << 20
MAX_MEMBERS = 1 << 20
"""Members of all nodes and switches together."""
MAX_NAME_CHARS = 200

_RANGE = re.compile(r"(\d{1,9})(?:\s*-\s*(\d{1,9}))?")
_COLUMNS = frozenset({"rank", "worker", "node", "switch"})


def read_topology(data: bytes, name: str) -> RankTopology:
    """The nodes and switches in the bytes of a file.

    Args:
        data: Its content, UTF-8.
        name: Its name, which says what it is.

    Raises:
        SidecarError: it is something else, or names too much; the message says what.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SidecarError("it is no UTF-8 text") from error
    return _from_csv(text, name) if name.endswith(".csv") else _from_toml(text, name)


def _from_toml(text: str, name: str) -> RankTopology:
    try:
        content: Any = msgspec.toml.decode(text)
    except (ValueError, RecursionError) as error:
        raise SidecarError(f"it is no TOML: {str(error)[:200]}") from error
    nodes, switches = _Members(), _Members()
    left = MAX_MEMBERS
    for key, members in (("nodes", nodes), ("switches", switches)):
        table = content.get(key, {})
        if not isinstance(table, dict):
            raise SidecarError(f"{key} is no table of names and members")
        for owner, value in table.items():
            left -= members.add(str(owner), value, left)
    if not (nodes.by_rank or nodes.by_name or switches.by_rank or switches.by_name):
        raise SidecarError("it has neither [nodes] nor [switches]")
    return RankTopology(name, nodes.by_rank, nodes.by_name, switches.by_rank, switches.by_name)


class _Members:
    """The owners of ranks and of names."""

    def __init__(self) -> None:
        self.by_rank: dict[int, str] = {}
        self.by_name: dict[str, str] = {}

    def add(self, owner: str, value: object, limit: int) -> int:
        """Add the members of an owner, at most ``limit``; returns how many."""
        _check_name(owner)
        count = 0
        for member in _members(value):
            count += 1
            if count > limit:
                raise SidecarError(f"it names more than {MAX_MEMBERS:,} members")
            if isinstance(member, int):
                self.by_rank[member] = owner
            else:
                self.by_name[member] = owner
        return count


def _members(value: object) -> Iterator[int | str]:
    if isinstance(value, list):
        for each in value:
            if isinstance(each, list):
                raise SidecarError("a list of members holds another list")
            yield from _members(each)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield _rank(value)
    elif isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        if all(_RANGE.fullmatch(part) for part in parts):
            for part in parts:
                yield from _ranks(part)
        else:
            yield _check_name(value.strip())
    else:
        raise SidecarError("a member is neither a rank nor a name")


def _ranks(part: str) -> Iterator[int]:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise SidecarError("a rank is no number")
    first = _rank(int(match[1]))
    last = _rank(int(match[2])) if match[2] else first
    if last < first:
        raise SidecarError(f"the ranks {part} run backwards")
    yield from range(first, last + 1)


def _rank(number: int) -> int:
    if not 0 <= number < MAX_RANKS:
        raise SidecarError("a rank is out of bounds")
    return number


def _check_name(name: str) -> str:
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise SidecarError("a name is empty, too long or not printable")
    return name


def _from_csv(text: str, name: str) -> RankTopology:
    try:
        rows = list(csv.DictReader(io.StringIO(text), strict=True))[: MAX_MEMBERS + 1]
    except csv.Error as error:
        raise SidecarError(f"it is no CSV: {str(error)[:200]}") from error
    if not rows or "node" not in rows[0] or not {"rank", "worker"} & rows[0].keys():
        raise SidecarError("its head lacks rank (or worker) and node")
    if len(rows) > MAX_MEMBERS:
        raise SidecarError(f"it names more than {MAX_MEMBERS:,} members")
    nodes, switches, of_node = _Members(), _Members(), _Members()
    for row in rows:
        cells = {key: (row.get(key) or "").strip() for key in _COLUMNS}
        member: object = _number(cells["rank"]) if cells["rank"] else cells["worker"]
        nodes.add(cells["node"], member, 1)
        if cells["switch"] and isinstance(member, int):
            switches.add(cells["switch"], member, 1)
        elif cells["switch"]:
            of_node.add(cells["switch"], [cells["node"]], 1)
    return RankTopology(name, nodes.by_rank, nodes.by_name, switches.by_rank, of_node.by_name)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise SidecarError("a rank is no number")
    return _rank(int(text))
