"""Begins the recording of a process as soon as its ``import torch`` is complete.

The import itself runs as it does without us: same loader, no frame of ours in its tracebacks. What
tells that it is over is the spec, which the import system marks so as its last act.
"""

import os
import sys
from importlib.machinery import ModuleSpec

from torch_tb_profiler.recorder import notes

TYPE_CHECKING = False  # the one of typing would load it, into every Python of the program
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MODULE = "torch"
DONE = "_torch_tb_profiler_done"


class _WatchedSpec(ModuleSpec):
    """A spec that tells when its module is imported, and then is an ordinary one."""

    @property
    def _initializing(self) -> bool:
        return bool(self.__dict__.get("_initializing"))

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        was, self.__dict__["_initializing"] = self._initializing, value
        if value or not was:
            return
        done = self.__dict__.pop(DONE, None)
        self.__class__ = ModuleSpec  # type: ignore[assignment]
        if done is not None:
            done(sys.modules.get(self.name))


class Watch:
    """Finds a module as others do, and hears of the end of its import."""

    def __init__(self, name: str, done: "Callable[[object], None]") -> None:
        """Watch nothing yet.

        Args:
            name: Of the module.
            done: Called in the thread that has imported it, with the module, None where that
                failed. It must not raise.
        """
        self._name = name
        self._done = done

    def find_spec(self, name: str, path: "Any" = None, target: "Any" = None) -> "Any":
        """As ``importlib`` asks: what the finders behind this one find."""
        if name != self._name:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                if type(spec) is ModuleSpec and spec.loader is not None:
                    spec.__class__ = _WatchedSpec
                    spec.__dict__[DONE] = self._done
                return spec
        return None


def record_after_torch(place: str) -> None:
    """Have this process recorded once it has imported torch.

    Args:
        place: Path of the notes.
    """
    text = os.environ[notes.VARIABLE]

    def done(module: object) -> None:
        if module is None:
            notes.note(place, notes.NO_TORCH)
            return
        try:
            _begin(text, place)
        except Exception as error:
            notes.note(place, notes.FAILED, repr(error))

    if MODULE in sys.modules:  # a .pth file has imported it
        done(sys.modules[MODULE])
    else:
        sys.meta_path.insert(0, Watch(MODULE, done))


def _begin(text: str, place: str) -> None:
    from torch_tb_profiler.recorder import exits, options, session  # noqa: PLC0415

    chosen = options.from_json(text)
    if session.begin(chosen) is None:
        notes.note(place, notes.FAILED, "the recording could not begin")
        return
    notes.note(place, notes.TORCH)
    exits.install(chosen)
