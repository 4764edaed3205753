"""Differences between ranks in recorded figures, and from when on they are a finding:
``recorded_ranks.toml``."""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class RankFigure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure that ranks are compared by; the comments of the file explain each key."""

    table: str
    column: str
    whole: tuple[str, ...]
    worse: Literal["higher", "lower"]
    title: str
    text: str
    level: str | None = None


class LinkTexts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Title and text of a slow link."""

    title: str
    text: str


class RecordedRanksFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``recorded_ranks.toml``; its comments explain each key."""

    slower_pct: float
    least_share_pct: float
    least_links: int
    least_size_share: float
    figures: tuple[RankFigure, ...]
    links: LinkTexts


@once
def recorded_ranks_file() -> RecordedRanksFile:
    """The entries of the file."""
    return load("recorded_ranks.toml", RecordedRanksFile)
