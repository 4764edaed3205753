"""Runs at the start of every Python process of a recorded program; importing torch then starts a
recording.

The interpreter may belong to another environment, without this package installed, and may be old.
It gets access to this package and to nothing else of our environment. A ``sitecustomize`` of its
own still runs.
"""

import os
import sys

VARIABLE = "TORCH_TB_PROFILER_RECORD"
NAME = "torch_tb_profiler"
OLDEST = (3, 10)
"""The oldest Python version that can be recorded."""

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(HERE))


class PackageFinder:
    """Import finder for this package only; takes precedence over another installed version, whose
    options could differ."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> object:
        """See :meth:`importlib.abc.MetaPathFinder.find_spec`."""
        if name != NAME:
            return None
        from importlib.util import spec_from_file_location  # noqa: PLC0415 - rarely needed

        file = os.path.join(PACKAGE, "__init__.py")
        return spec_from_file_location(name, file, submodule_search_locations=[PACKAGE])


def begin() -> None:
    """Arrange that importing torch starts a recording. Errors go to the notes; none is raised."""
    if not os.environ.get(VARIABLE):
        return
    finder = PackageFinder()
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        from torch_tb_profiler.recorder import notes  # noqa: PLC0415 - needs the finder

        notes_path = notes.notes_path()
        if sys.version_info < OLDEST:
            sys.meta_path.remove(finder)  # type: ignore[arg-type]
            for name in [each for each in sys.modules if each.partition(".")[0] == NAME]:
                del sys.modules[name]
            notes.note(notes_path, notes.TOO_OLD, sys.version.split()[0])
            return
        try:
            from torch_tb_profiler.recorder import after_import  # noqa: PLC0415

            after_import.record_after_torch(notes_path)
            notes.note(notes_path, notes.PYTHON)
        except Exception as error:
            notes.note(notes_path, notes.FAILED, repr(error))
    except Exception:  # the program comes first
        return


def run_shadowed() -> None:
    """Run the ``sitecustomize`` that this one shadows, if any.

    Raises:
        Exception: whatever that module raises.
    """
    sys.path[:] = [each for each in sys.path if os.path.abspath(each) != HERE]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401, PLC0415
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


if __name__ == "sitecustomize":
    begin()
    run_shadowed()
