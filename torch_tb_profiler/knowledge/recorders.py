"""What records traces, and how it is told to record more: ``recorders.toml``."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class Recorder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One recorder.

    Attributes:
        name: As ``TraceInfo.recorder`` has it.
        framework: Whose programs it records; None for those of any.
        no_events: What to do where a recording is empty.
        devices: What the devices are whose models it does not name; None where it names them, or
            where they may be any.
        private_use: What the devices are whose type torch calls PrivateUse1.
        records: What a recording can lack → a phrase that says what records it.
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
"""A recorder that nobody knows: nothing is recommended."""


@once
def recorders() -> dict[str, Recorder]:
    """Name → recorder, in the order of the file."""
    return {each.name: each for each in load("recorders.toml", RecorderFile).recorders}


def recorder_named(name: str | None) -> Recorder:
    """The recorder of that name, :data:`UNKNOWN` for none and for one that is not listed."""
    return recorders().get(name or "", UNKNOWN)
