"""Recorders of traces, and their options to record more: ``recorders.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Recorder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One recorder.

    Attributes:
        name: As in ``TraceInfo.recorder``.
        framework: The framework whose programs it records; None for any.
        no_events: Advice for an empty recording.
        devices: Label of the devices whose models it does not name; None if it names them, or they
            may be any.
        private_use: Label of the devices whose type torch calls PrivateUse1.
        records: Capability that a recording may lack → a phrase with the option that records it.
    """

    name: str
    framework: str | None = None
    no_events: str | None = None
    devices: str | None = None
    private_use: str | None = None
    records: dict[str, str] = {}


class RecorderFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``recorders.toml``."""

    recorders: tuple[Recorder, ...]


TORCH_PROFILER = "torch.profiler"

UNKNOWN = Recorder("")
"""An unknown recorder: nothing is recommended."""


@once
def recorders() -> dict[str, Recorder]:
    """Name → recorder, in the order of the file."""
    return {each.name: each for each in load("recorders.toml", RecorderFile).recorders}


def recorder_named(name: str | None) -> Recorder:
    """The recorder of that name; :data:`UNKNOWN` for None and for unlisted names."""
    return recorders().get(name or "", UNKNOWN)
