"""Numbers of ranks as tables and sentences list them."""

from __future__ import annotations

from collections.abc import Iterable

MOST_PARTS = 8
"""Of more single ranks and stretches only these are listed, and how many ranks there are."""


def rank_text(ranks: Iterable[int], most_parts: int = MOST_PARTS) -> str:
    """Ranks in ascending order, stretches of consecutive ones joined; beyond ``most_parts`` of them
    only how many ranks there are.

    >>> rank_text([3, 0, 1, 2, 7]), rank_text([4]), rank_text(range(0, 40, 2))
    ('0-3, 7', '4', '0, 2, 4, 6, 8, 10, 12, 14 … (20 ranks)')
    """
    ordered = sorted(set(ranks))
    parts: list[tuple[int, int]] = []
    for rank in ordered:
        if parts and parts[-1][1] == rank - 1:
            parts[-1] = (parts[-1][0], rank)
        else:
            parts.append((rank, rank))
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in parts]
    if len(texts) <= most_parts:
        return ", ".join(texts)
    return f"{', '.join(texts[:most_parts])} … ({len(ordered)} ranks)"
