"""Files of one folder that are one trace together, for each worker that their names tell."""

from __future__ import annotations

from collections.abc import Iterable

from torch_tb_profiler.storage.found import Match, Member
from torch_tb_profiler.storage.locations import joined_members, joined_state
from torch_tb_profiler.storage.names import TraceName


def traces_of_members(members: Iterable[Member]) -> list[Match]:
    """The traces that these files are; a worker of digits alone is a rank."""
    together: dict[tuple[str, str, str], list[Member]] = {}
    for member in members:
        key = (member.folder, member.name.format, member.name.worker)
        together.setdefault(key, []).append(member)
    return [_trace(worker, files) for (_, _, worker), files in together.items()]


def _trace(worker: str, files: list[Member]) -> Match:
    first = files[0]
    name = f"rank{worker}" if worker.isdecimal() else worker
    return Match(
        first.folder,
        joined_members(first.location, name, [file.base_name for file in files]),
        joined_state((file.base_name, file.state) for file in files),
        TraceName(name, None, first.name.format),
    )
