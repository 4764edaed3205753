"""Thresholds, texts and links of the advice."""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

TRACE = "trace"
WORKERS = "workers"


class AdviceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said about one piece of advice, apart from the numbers.

    Attributes:
        code: Stable name, also of its detector.
        title: For people.
        threshold: The measured value is compared with it.
        unit: Unit of the measured value and of the threshold.
        texts: Format strings by variant; ``default`` is always there.
        elsewhere: Of the same variants, what is said of recordings of others than torch.profiler.
        links: Where to read on.
        recording_links: The same about recording with torch.profiler.
        needs: What a recording must hold for the rule to tell anything, by name.
        scopes: What its detector runs on: one trace, the workers of a run, or both.
        superseded_by: Codes of findings that explain this one better: where one of them explains
            most of it, this one is left out.
        published: Whether DLProf published that threshold; all others are ours.
        rule: Number of the removed plugin's rule it continues (``docs/advice.md``).
        parameters: Further numbers the detector uses.
    """

    code: str
    title: str
    threshold: float
    unit: str
    texts: dict[str, str]
    elsewhere: dict[str, str] = {}
    links: tuple[str, ...] = ()
    recording_links: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    scopes: tuple[Literal["trace", "workers"], ...] = ("trace",)
    superseded_by: tuple[str, ...] = ()
    published: bool = False
    rule: int | None = None
    parameters: dict[str, float] = {}


class AdviceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``advice.toml``."""

    advice: tuple[AdviceEntry, ...]


@once
def entries() -> dict[str, AdviceEntry]:
    """All entries by code, in the order of the file."""
    return {item.code: item for item in load("advice.toml", AdviceFile).advice}


def entry(code: str) -> AdviceEntry:
    """The entry of a detector.

    Raises:
        KeyError: there is none; the message names the file to edit.
    """
    try:
        return entries()[code]
    except KeyError:
        raise KeyError(
            f'torch_tb_profiler/knowledge/advice.toml has no [[advice]] entry with code = "{code}"'
        ) from None
