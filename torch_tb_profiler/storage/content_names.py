"""What the name of a trace says that no tool's pattern knows: whose it is, and of which run.

Traces are told by their content (:mod:`torch_tb_profiler.storage.heads`), so their names may be
anything: ``trace.json``, ``rank0.json.gz``, ``1719428888.1-TP-0-DECODE.trace.json.gz``. Files are
taken for ranks of one job only where their names differ in the rank alone; any other file is a run
of its own, because views of a run compare its workers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

_RANK = re.compile(
    r"(?<![a-z0-9])(?:(?:(?:global|local)[-_ ]?)?(?:rank|worker)[-_ .]?|tp-)[0-9]+", re.I
)
_BESIDE_RANK = re.compile(r"(?<![a-z])(?:[dtpec]p|d?cp|pcp|node|host|gpu)[-_ .]?[0-9]+", re.I)
"""Parts that say which rank only beside one of the first kind: alone ``ep3`` may be an epoch, and
``tp8`` or ``gpu8`` a size."""

_NUMBER = re.compile(r"[0-9]+")
_SEPARATORS = re.compile(r"([-_ .])[-_ .]+")
_WORD = re.compile(r"[^-_ .]+")
_TRACE_ENDING = re.compile(r"(?<=.)\.(?:pt\.)?trace$", re.I)
_EPOCH = re.compile(r"(?<![0-9])[0-9]{10}(?:[0-9]{3}|[0-9]{6}|[0-9]{9})?(?![0-9])")
_EPOCH_S = (1_420_070_400, 4_102_444_800)
"""2015 to 2100: numbers outside are no dates of a recording."""

_PLAIN_WORD = re.compile(
    r"(?:traces?|profil(?:e|es|er|ing)|(?:py)?torch|pt|kineto|chrome|tb)", re.I
)
"""Words that say only that a file is a trace: one so called is the trace of its folder."""


@dataclass(frozen=True, slots=True)
class ContentName:
    """What a name says.

    Attributes:
        group: What the names of the ranks of one job have in common; empty when nothing is left.
        worker: Whose trace it is.
        is_rank: Whether the name says which rank it is of.
        is_plain: Whether it says no more than that it is a trace, or a rank's.
    """

    group: str
    worker: str
    is_rank: bool
    is_plain: bool


def content_name(
    base_name: str, endings: Iterable[str], rank: int | None = None, world_size: int | None = None
) -> ContentName:
    """Group and worker of a trace that is told by its content.

    Args:
        base_name: Its name.
        endings: Of which the longest that it has is no part of the name.
        rank: Its rank, as the file says.
        world_size: How many ranks the job has, as the file says.

    >>> content_name("17.5-TP-1-DP-0-DECODE.trace.json.gz", (".json.gz",))
    ContentName(group='17.5-DECODE', worker='TP-1-DP-0', is_rank=True, is_plain=False)
    >>> content_name("trace.json", (".json",))
    ContentName(group='trace', worker='trace', is_rank=False, is_plain=True)
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
        return ContentName(stem, stem, is_rank=False, is_plain=_is_plain(stem))
    group = _without(stem, parts)
    return ContentName(group, worker, is_rank=True, is_plain=_is_plain(group))


def runs_of_groups(
    folder: str, names: Collection[ContentName], taken: Collection[str]
) -> Mapping[ContentName, str]:
    """The run of each of the names in one folder.

    The traces of one plain group are the folder's own, ranks before others; every other group is a
    run below it.

    Args:
        folder: The run that the folder itself is; empty for the logdir.
        names: The names in it.
        taken: Runs that there are already.
    """
    groups = {(name.is_rank, name.group): name for name in names}
    own = None
    if folder not in taken:
        plain = [key for key, name in groups.items() if name.is_plain]
        own = min(plain, key=lambda key: (not key[0], key[1]), default=None)
    runs: dict[tuple[bool, str], str] = {} if own is None else {own: folder}
    used = {*taken, *runs.values()}
    for key in sorted(groups):
        if key in runs:
            continue
        run = f"{folder}/{key[1] or 'ranks'}" if folder else key[1] or "ranks"
        while run in used:
            run += "+"
        used.add(run)
        runs[key] = run
    return {name: runs[name.is_rank, name.group] for name in names}


def recorded_s(base_name: str) -> float | None:
    """When a recording ended by the stamp in a name (seconds, ms, µs or ns since 1970), in seconds;
    None where there is none.

    >>> recorded_s("worker0.1623143089861.pt.trace.json")
    1623143089.861
    """
    for match in _EPOCH.finditer(base_name):
        value_s = int(match[0]) / 10.0 ** (len(match[0]) - 10)
        if _EPOCH_S[0] <= value_s < _EPOCH_S[1]:
            return value_s
    return None


def _rank_parts(stem: str) -> list[tuple[int, int]]:
    """Where the parts of a name stand that say which rank it is of."""
    ranks = [match.span() for match in _RANK.finditer(stem)]
    if not ranks:
        return []
    return sorted({*ranks, *(match.span() for match in _BESIDE_RANK.finditer(stem))})


def _without(stem: str, parts: Iterable[tuple[int, int]]) -> str:
    """The rest of a name, one separator where parts are gone."""
    kept, at = [], 0
    for start, end in (*parts, (len(stem), len(stem))):
        kept.append(stem[at:start])
        at = end
    return _SEPARATORS.sub(r"\1", "".join(kept)).strip("-_ .")


def _is_plain(text: str) -> bool:
    return all(_PLAIN_WORD.fullmatch(word) for word in _WORD.findall(text))
