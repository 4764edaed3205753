"""The rank in the name of a dump."""

from __future__ import annotations

import re

_RANK = re.compile(r"rank[-_ .]?(\d{1,7})", re.IGNORECASE)
_LAST = re.compile(r"(\d{1,7})(?:\.[a-z]+)*$", re.IGNORECASE)


def rank_of_dump(name: str) -> int | None:
    """The rank in the name of a dump; None without one.

    torch appends it to a prefix of the user's choice, so that the number at the end is the rank
    where no ``rank`` is in front of one. Of several with ``rank`` the last one counts: the prefix
    may name the rank of a node.

    >>> rank_of_dump("nccl_trace_rank_3"), rank_of_dump("/tmp/fr_dump12"), rank_of_dump("dump")
    (3, 12, None)
    >>> rank_of_dump("node_rank_1_rank_3"), rank_of_dump("job-rank8-run_3")
    (3, 8)
    """
    base = name.replace("\\", "/").rpartition("/")[2]
    after_rank = _RANK.findall(base)
    if after_rank:
        return int(after_rank[-1])
    match = _LAST.search(base)
    return None if match is None else int(match[1])
