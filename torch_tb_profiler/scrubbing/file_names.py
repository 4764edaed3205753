"""Names of the files of a copy: without names of hosts, people and runs, and grouped as before."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_tb_profiler.importers.registry import trace_names
from torch_tb_profiler.knowledge.scrubbing import RUN, private_segments
from torch_tb_profiler.scrubbing.learning import LearnedNames
from torch_tb_profiler.scrubbing.replacements import Replacements
from torch_tb_profiler.storage.names import natural_key

MIN_LEARNED_CHARS = 6
_OF_PROCESS = re.compile(r"\d{2}")
"""Parts of names that are searched for in texts: long, and with a number as of a process. Others
may be words by which names of operators and kernels are recognized."""

FIELD = "a file name"


class FileNames:
    """What the files of a folder are called in its copy.

    Ranks, steps and stamps of the names stay, and equal parts of names become equal ones, so that
    the copy has the same runs, workers and spans. Numbers follow the order of the names.

    Args:
        names: Paths relative to the folder, ``/`` between parts.
        replacements: Gets the private parts.
        learned: Gets those that are searched for in texts, too.
    """

    def __init__(
        self, names: Iterable[str], replacements: Replacements, learned: LearnedNames
    ) -> None:
        self._replacements = replacements
        self._taken: set[str] = set()
        stems = {stem for name in names for stem, _ in map(_stem_and_rest, name.split("/"))}
        segments = {segment for stem in stems for segment in private_segments(stem)}
        for segment in sorted(segments, key=natural_key):
            token = replacements.replacement(RUN, segment, FIELD)
            is_of_process = _OF_PROCESS.search(segment) and not segment.isdigit()
            if len(segment) >= MIN_LEARNED_CHARS and is_of_process:
                learned.add(segment, token)

    def target(self, name: str) -> str:
        """The path of the copy of a file; of two equal ones the second gets a ``+``."""
        *folders, base_name = name.split("/")
        parts = [self._renamed(folder) for folder in folders]
        stem, rest = _stem_and_rest(base_name)
        renamed = self._renamed(stem)
        while (target := "/".join([*parts, renamed + rest])) in self._taken:
            renamed += "+"
        self._taken.add(target)
        return target

    def _renamed(self, stem: str) -> str:
        result, position = "", 0
        for segment in private_segments(stem):
            start = stem.index(segment, position)
            token = self._replacements.replacement(RUN, segment, FIELD)
            result += stem[position:start] + token
            position = start + len(segment)
        return result + stem[position:]


def _stem_and_rest(base_name: str) -> tuple[str, str]:
    """The part of a name that people and hosts choose, and the rest that formats define."""
    names = trace_names()
    folders = (pattern.parse(base_name) for pattern in names.folders)
    parsed = names.parse_file(base_name) or next(filter(None, folders), None)
    if parsed is not None and parsed.worker and base_name.startswith(parsed.worker):
        return parsed.worker, base_name[len(parsed.worker) :]
    endings = sorted(names.endings, key=len, reverse=True)
    ending = next(filter(base_name.endswith, endings), "")
    return base_name.removesuffix(ending), ending
