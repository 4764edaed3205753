"""Every Python of a recorded program runs this as it starts: torch's import will begin a recording.

It may be a Python of another environment, where nothing of ours is installed, and an old one. It
gets this package, and nothing of what lies beside it; its own ``sitecustomize`` runs as ever.
"""

import os
import sys

VARIABLE = "TORCH_TB_PROFILER_RECORD"
NAME = "torch_tb_profiler"
OLDEST = (3, 10)
"""The first Python that a recording works in."""

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(os.path.dirname(HERE))


class OwnPackage:
    """Finds this package, also before another of its name: the options are those of this one."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> object:
        """As ``importlib`` asks."""
        if name != NAME:
            return None
        from importlib.util import spec_from_file_location  # noqa: PLC0415 - rarely needed

        file = os.path.join(PACKAGE, "__init__.py")
        return spec_from_file_location(name, file, submodule_search_locations=[PACKAGE])


def begin() -> None:
    """Have the import of torch begin a recording; whatever goes wrong is told, not raised."""
    if not os.environ.get(VARIABLE):
        return
    finder = OwnPackage()
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    try:
        from torch_tb_profiler.recorder import notes  # noqa: PLC0415 - found only now

        place = notes.place()
        if sys.version_info < OLDEST:
            sys.meta_path.remove(finder)  # type: ignore[arg-type]
            for name in [each for each in sys.modules if each.partition(".")[0] == NAME]:
                del sys.modules[name]
            notes.note(place, notes.OLD, sys.version.split()[0])
            return
        try:
            from torch_tb_profiler.recorder import after_import  # noqa: PLC0415

            after_import.record_after_torch(place)
            notes.note(place, notes.PYTHON)
        except Exception as error:
            notes.note(place, notes.FAILED, repr(error))
    except Exception:  # the program comes first
        return


def go_on() -> None:
    """Run the ``sitecustomize`` that would have been found without this one.

    Raises:
        Exception: whatever that one raises.
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
    go_on()
