"""Thresholds, texts and links of the detectors."""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

TRACE = "trace"
WORKERS = "workers"


class AdviceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of one detector.

    Attributes:
        code: Stable name of the finding and of its detector.
        title: Title of the finding.
        threshold: The value that the measured value is compared with.
        unit: Unit of the measured value and of the threshold.
        texts: Format strings by variant; ``default`` always exists.
        elsewhere: Texts that replace those of the same variants for other recorders than
            torch.profiler.
        links: Further reading.
        recording_links: Further reading about recording with torch.profiler.
        needs: Names of the data that a recording must have (``evidence.needs``).
        scopes: Whether its detector runs on one trace, on the workers of a run, or on both.
        superseded_by: Codes of findings that replace this one if they explain most of it.
        published: Whether DLProf published the threshold; all others are rules of thumb.
        rule: Number of the rule of the removed plugin that it continues (``docs/advice.md``).
        parameters: Further numbers of the detector.
        is_remark: Whether its findings are about the recording or spare resources, and leave open
            where time goes.
        concerns_recording: Whether its findings are about how was recorded: another recording of
            the same program need not have them.
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
    is_remark: bool = False
    concerns_recording: bool = False


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
