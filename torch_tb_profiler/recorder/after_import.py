"""Starts the recording of a process as soon as its ``import torch`` is complete.

The import itself is unchanged: same loader, and no frame of the recorder in its tracebacks. The end
of the import is detected through the module spec, whose ``_initializing`` flag the import system
clears last.
"""

import os
import sys
from importlib.machinery import ModuleSpec

from torch_tb_profiler.recorder import notes

TYPE_CHECKING = False  # importing typing would load it into every Python process of the program
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MODULE = "torch"
DONE = "_torch_tb_profiler_done"


class _ReportingSpec(ModuleSpec):
    """A module spec that reports the end of the import once, then becomes an ordinary spec."""

    @property
    def _initializing(self) -> bool:
        return bool(self.__dict__.get("_initializing"))

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        was, self.__dict__["_initializing"] = self._initializing, value
        if value or not was:
            return
        on_imported = self.__dict__.pop(DONE, None)
        self.__class__ = ModuleSpec  # type: ignore[assignment]
        if on_imported is not None:
            on_imported(sys.modules.get(self.name))


class ImportWatch:
    """Import finder that lets the other finders find a module and reports the end of its import."""

    def __init__(self, name: str, on_imported: "Callable[[object], None]") -> None:
        """Create the finder; it becomes active when it is on ``sys.meta_path``.

        Args:
            name: Name of the module.
            on_imported: Called in the importing thread with the module, or with None if the import
                failed. It must not raise.
        """
        self._name = name
        self._on_imported = on_imported

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        """The spec that the remaining finders return for the module; None for other names."""
        if name != self._name:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                if type(spec) is ModuleSpec and spec.loader is not None:
                    spec.__class__ = _ReportingSpec
                    spec.__dict__[DONE] = self._on_imported
                return spec
        return None


def record_after_torch(notes_path: str) -> None:
    """Record this process from the moment it has imported torch.

    Args:
        notes_path: Path of the notes file.
    """
    text = os.environ[notes.VARIABLE]

    def on_imported(module: object) -> None:
        if module is None:
            notes.note(notes_path, notes.NO_TORCH)
            return
        try:
            _begin(text, notes_path)
        except Exception as error:
            notes.note(notes_path, notes.FAILED, repr(error))

    if MODULE in sys.modules:  # already imported, by a .pth file
        on_imported(sys.modules[MODULE])
    else:
        sys.meta_path.insert(0, ImportWatch(MODULE, on_imported))


def _begin(text: str, notes_path: str) -> None:
    from torch_tb_profiler.recorder import exits, options, session  # noqa: PLC0415

    chosen = options.from_json(text)
    if session.begin(chosen) is None:
        notes.note(notes_path, notes.FAILED, "the recording could not begin")
        return
    notes.note(notes_path, notes.TORCH)
    exits.install(chosen)
