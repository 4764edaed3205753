"""What the program of a journal had set, with what its data loaders were set to."""

from __future__ import annotations

import msgspec

from torch_tb_profiler.importers.program_settings import program_settings
from torch_tb_profiler.importers.recorder.journal import Journal
from torch_tb_profiler.importers.recorder.values import WRONG
from torch_tb_profiler.trace.info import ProgramSettings

OF_LOADER = {
    "workers": "loader_workers",
    "batch_size": "batch_size",
    "pin_memory": "pin_memory",
    "prefetch_factor": "prefetch_factor",
    "persistent_workers": "persistent_workers",
}
"""Field of a loader → the setting that it is, of the loader that the program used first."""


def settings_of(journal: Journal) -> ProgramSettings:
    """The settings that blocks of a journal tell of, each of its type and range."""
    first = journal.loaders[min(journal.loaders)] if journal.loaders else {}
    of_loader = {
        setting: first[field]
        for field, setting in OF_LOADER.items()
        if first.get(field) is not None
    }
    return program_settings({**of_loader, **journal.settings}, journal.quality, WRONG, "settings")


def joined(own: ProgramSettings, recorded: ProgramSettings) -> ProgramSettings:
    """What a program says of itself, and for the rest what a recorder saw."""
    missing = {
        field: getattr(recorded, field)
        for field in recorded.__struct_fields__
        if getattr(own, field) is None
    }
    return msgspec.structs.replace(own, **missing)
