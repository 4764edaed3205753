"""Where to read on about making programs faster: public pages, by topic, in ``guidance.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Guide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One page.

    Attributes:
        title: Its topic.
        text: What it is good for, in a sentence.
        url: Its public address.
    """

    title: str
    text: str
    url: str


class GuidanceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``guidance.toml``."""

    guides: tuple[Guide, ...]


@once
def guides() -> tuple[Guide, ...]:
    """The pages, in the order of the file."""
    return load("guidance.toml", GuidanceFile).guides
