"""Public pages about performance tuning, by topic: ``guidance.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.knowledge.recorders import Recorder
from torch_tb_profiler.once import once


class Guide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One page.

    Attributes:
        title: Its topic.
        text: What it helps with, in a sentence.
        url: Its public address.
        framework: The framework it is about; None for any.
        recorder: The recorder it is about; None for any.
    """

    title: str
    text: str
    url: str
    framework: str | None = None
    recorder: str | None = None


class GuidanceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``guidance.toml``."""

    guides: tuple[Guide, ...]


@once
def guides() -> tuple[Guide, ...]:
    """The pages, in the order of the file."""
    return load("guidance.toml", GuidanceFile).guides


def guides_for(recorder: Recorder) -> tuple[Guide, ...]:
    """The pages for recordings of ``recorder``; all frameworks if the recorder supports any."""
    return tuple(
        guide
        for guide in guides()
        if guide.recorder in (None, recorder.name)
        and (guide.framework is None or recorder.framework in (None, guide.framework))
    )
