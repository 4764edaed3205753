"""Parse names of traces that were detected by content: worker and run from any file name.

Such names may be anything: ``trace.json``, ``rank0.json.gz``,
``1719428888.1-TP-0-DECODE.trace.json.gz``. Files are ranks of one job only if their names differ in
nothing but the rank; every other file is a run of its own, because the views of a run compare its
workers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

_RANK = re.compile(
    r"(?<![a-z0-9])(?:(?:(?:global|local)[-_ ]?)?(?:rank|worker)[-_ .]?|tp-)[0-9]+", re.I
)
_SECONDARY_RANK = re.compile(r"(?<![a-z])(?:[dtpec]p|d?cp|pcp|node|host|gpu)[-_ .]?[0-9]+", re.I)
"""Parts that identify a rank only next to one of the first kind: on its own, ``ep3`` may be an
epoch, and ``tp8`` or ``gpu8`` a size."""

_PROCESS = re.compile(r"[0-9]+(?=_results$)")
_PROCESS_FILE = re.compile(r"[0-9]+_results\.\w+(?:\.gz)?")
"""The names that rocprofv3 gives its files: one per process, in a folder of its host."""

_NUMBER = re.compile(r"[0-9]+")
_SEPARATORS = re.compile(r"([-_ .])[-_ .]+")
_WORD = re.compile(r"[^-_ .]+")
_TRACE_ENDING = re.compile(r"(?<=.)\.(?:pt\.)?trace$", re.I)
_EPOCH = re.compile(r"(?<![0-9])[0-9]{10}(?:[0-9]{3}|[0-9]{6}|[0-9]{9})?(?![0-9])")
_EPOCH_S = (1_420_070_400, 4_102_444_800)
"""2015 to 2100: numbers outside are not dates of a recording."""

_PLAIN_WORD = re.compile(
    r"(?:traces?|profil(?:e|es|er|ing)|(?:py)?torch|pt|kineto|chrome|tb|results)", re.I
)
"""Words that say only that a file is a trace: a file with such a name is the trace of its
folder."""


class DetectedName(Struct, frozen=True):
    """A parsed name.

    Attributes:
        group: What the names of the ranks of one job have in common; empty if nothing is left.
        worker: Name of the worker.
        is_rank: Whether the name contains a rank.
        is_plain: Whether it says no more than that it is a trace, or a rank's trace.
    """

    group: str
    worker: str
    is_rank: bool
    is_plain: bool


def parse_detected_name(
    base_name: str, endings: Iterable[str], rank: int | None = None, world_size: int | None = None
) -> DetectedName:
    """Group and worker of a trace that was detected by its content.

    Args:
        base_name: Its name.
        endings: Known endings; the longest one that matches is not part of the name.
        rank: Its rank, according to the file.
        world_size: Number of ranks of the job, according to the file.

    >>> parse_detected_name("17.5-TP-1-DP-0-DECODE.trace.json.gz", (".json.gz",))
    DetectedName(group='17.5-DECODE', worker='TP-1-DP-0', is_rank=True, is_plain=False)
    >>> parse_detected_name("trace.json", (".json",))
    DetectedName(group='trace', worker='trace', is_rank=False, is_plain=True)
    """
    longest = sorted(endings, key=len, reverse=True)
    stem = base_name.removesuffix(next(filter(base_name.endswith, longest), ""))
    stem = _TRACE_ENDING.sub("", stem) or base_name
    parts = _rank_parts(stem)
    worker = "-".join(stem[start:end] for start, end in parts)
    if not parts and rank is not None and (world_size or 0) > 1:
        numbers = [m.span() for m in _NUMBER.finditer(stem) if int(m[0][:20]) == rank]
        parts, worker = numbers[-1:], f"rank{rank}"
    if not parts:
        return DetectedName(stem, stem, is_rank=False, is_plain=_is_plain(stem))
    group = _remove_parts(stem, parts)
    return DetectedName(group, worker, is_rank=True, is_plain=_is_plain(group))


def join_groups(names: Sequence[DetectedName], chosen: Sequence[bool]) -> list[DetectedName]:
    """The names, the chosen ones in one group: files of one job whatever their names have in
    common, like the dumps of two back ends.

    >>> dumps = [parse_detected_name(f"{each}_rank_3", ()) for each in ("fr_dump", "nccl_dump")]
    >>> [(name.group, name.worker) for name in join_groups(dumps, [True, True])]
    [('fr_dump', 'rank_3'), ('fr_dump', 'nccl_dump-rank_3')]
    """
    groups = {name.group: name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen}
    if len(groups) < 2:
        return list(names)
    first = groups[min(groups)]
    return [
        replace(first, worker=f"{name.group}-{name.worker}")
        if is_chosen and name.group != first.group
        else name
        for name, is_chosen in zip(names, chosen, strict=True)
    ]


def is_process_file(base_name: str) -> bool:
    """Whether a name is that of one process of a job, whose folder is a host.

    >>> is_process_file("4711_results.db"), is_process_file("rank0_results.db")
    (True, False)
    """
    return _PROCESS_FILE.fullmatch(base_name) is not None


def assign_runs(
    folder: str, names: Collection[DetectedName], existing: Collection[str]
) -> Mapping[DetectedName, str]:
    """The run of each name in one folder.

    The traces of one plain group belong to the folder's own run, ranks taking precedence; every
    other group is a run below it.

    Args:
        folder: The run that the folder itself is; empty for the logdir.
        names: The names in it.
        existing: Runs that exist already.
    """
    groups = {(name.is_rank, name.group): name for name in names}
    own_group = None
    if folder not in existing:
        plain = [key for key, name in groups.items() if name.is_plain]
        own_group = min(plain, key=lambda key: (not key[0], key[1]), default=None)
    runs: dict[tuple[bool, str], str] = {} if own_group is None else {own_group: folder}
    used = set(runs.values())
    for key in sorted(groups):
        if key in runs:
            continue
        run = f"{folder}/{key[1] or 'ranks'}" if folder else key[1] or "ranks"
        while run in used or run in existing:
            run += "+"
        used.add(run)
        runs[key] = run
    return {name: runs[name.is_rank, name.group] for name in names}


def recording_time_s(base_name: str) -> float | None:
    """When a recording ended, in seconds since 1970, from the stamp in its name (seconds, ms, µs or
    ns since 1970); None without a stamp.

    >>> recording_time_s("worker0.1623143089861.pt.trace.json")
    1623143089.861
    """
    for match in _EPOCH.finditer(base_name):
        value_s = int(match[0]) / 10.0 ** (len(match[0]) - 10)
        if _EPOCH_S[0] <= value_s < _EPOCH_S[1]:
            return value_s
    return None


def _rank_parts(stem: str) -> list[tuple[int, int]]:
    """Start and end of the parts of a name that identify its rank, or else its process."""
    ranks = [match.span() for match in _RANK.finditer(stem)]
    if not ranks:
        process = _PROCESS.match(stem)
        return [] if process is None else [process.span()]
    return sorted({*ranks, *(match.span() for match in _SECONDARY_RANK.finditer(stem))})


def _remove_parts(stem: str, parts: Iterable[tuple[int, int]]) -> str:
    """The rest of a name, with one separator where parts were removed."""
    remaining, position = [], 0
    for start, end in (*parts, (len(stem), len(stem))):
        remaining.append(stem[position:start])
        position = end
    return _SEPARATORS.sub(r"\1", "".join(remaining)).strip("-_ .")


def _is_plain(text: str) -> bool:
    return all(_PLAIN_WORD.fullmatch(word) for word in _WORD.findall(text))
