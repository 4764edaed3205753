"""Recorders of traces, and their options to record more: ``recorders.toml``."""

from __future__ import annotations

from typing import Literal

import msgspec

from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once


class RecordingOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An option of a recorder.

    Attributes:
        records: What it records: capabilities, or recordings of another kind (``questions.toml``).
        argument: The argument of the recorder; None if it has none.
        label: What it is called; None for the argument.
        before: Lines before the recorder starts.
        after: Lines after it has stopped.
        versions: The versions of torch that have it, ``"2.9 and newer"`` or ``"2.2 to 2.8"``; None
            for all.
        needs_device: Whether the program fails with it where it sees no device.
        cost: What it adds to the recording, in a few words; None where that was not measured.
    """

    records: tuple[str, ...]
    argument: str | None = None
    label: str | None = None
    before: str = ""
    after: str = ""
    versions: str | None = None
    needs_device: bool = False
    cost: str | None = None

    @property
    def name(self) -> str:
        """What people call it."""
        return self.label or self.argument or ""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Code that records a program, to be completed with options.

    Attributes:
        language: Language of the code.
        code: The code, with ``{before}``, ``{arguments}`` and ``{after}`` where those of the
            options stand.
        options: The options, in the order in which they stand in the code.
        otherwise: Name of another recorder of the same programs.
    """

    language: Literal["python", "shell"]
    code: str
    options: tuple[RecordingOption, ...] = ()
    otherwise: str | None = None


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
        recipe: Code that records more; None if there is none.
    """

    name: str
    framework: str | None = None
    no_events: str | None = None
    devices: str | None = None
    private_use: str | None = None
    records: dict[str, str] = {}
    recipe: Recipe | None = None


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
