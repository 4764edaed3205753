"""When a rank stands out among its peers, and when ranks behave alike: ``rank_measures.toml``."""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class RankMeasure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A measure of a rank.

    Attributes:
        key: Its column in ``analysis.ranks.measures``.
        title: In sentences.
        unit: Of ``matters``: ``step`` % of the median step, ``own`` % of the median of the measure,
            ``points`` the measure itself.
        matters: The least deviation that matters.
        is_behavior: Whether it describes what the rank itself does.
    """

    key: str
    title: str
    unit: Literal["step", "own", "points"]
    matters: float
    is_behavior: bool = False


class RankMeasuresFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``rank_measures.toml``."""

    least_z: float
    least_peers: int
    least_gaps: float
    least_alike_pct: float
    measures: tuple[RankMeasure, ...]


@once
def rank_measures_file() -> RankMeasuresFile:
    """The content of ``rank_measures.toml``."""
    return load("rank_measures.toml", RankMeasuresFile)
