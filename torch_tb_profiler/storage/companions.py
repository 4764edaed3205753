"""Files of one recording that lie side by side: what a format writes twice is shown once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torch_tb_profiler.storage.found import Match
from torch_tb_profiler.storage.left_out import LeftOutFiles

COMPANION = "companion"


def without_companions(
    matches: Sequence[Match], replaces: Iterable[tuple[str, str]], others: LeftOutFiles
) -> list[Match]:
    """The traces of one folder, without those that another one tells better.

    Args:
        matches: All of them.
        replaces: (ending, ending of the companion that is not shown).
        others: Gets these.
    """
    by_name = {match.location.name: match for match in matches if not match.location.members}
    hidden = dict(_companions(by_name, replaces))
    for name, by in hidden.items():
        match = by_name[name]
        text = f"{match.path} is the same recording as {by}, which tells more; it is shown once."
        others.add(match.path, COMPANION, text, match.location)
    return [match for match in matches if match.location.name not in hidden]


def _companions(
    names: Iterable[str], replaces: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """(companion, name of what replaces it)."""
    known = list(names)
    for ending, other in replaces:
        stems = {name.removesuffix(ending): name for name in known if name.endswith(ending)}
        for name in known:
            stem = name.removesuffix(other)
            if name.endswith(other) and name not in stems.values() and stem in stems:
                yield name, stems[stem]
