"""The module search path without the current folder.

Users open traces in folders with files from elsewhere, and one of them may be called ``pickle.py``.
See ``docs/safety.md#no-code-from-the-opened-folder``.

``__main__`` uses this before anything is imported: only modules that every Python has already
loaded at startup are imported here, which ``typing`` and ``__future__`` are not.
"""

import os
import sys

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that contains this package; its content is trusted as the package is."""


def safe_path() -> list[str]:
    """``sys.path`` without the current folder and entries that depend on it.

    ``python -c``, ``python -m`` and interactive sessions put it first. If this package is only
    there, as in a checkout, the folder comes last: nothing in it can shadow another module.
    """
    current = _current_folder()
    path = [
        entry
        for entry in sys.path
        if os.path.isabs(entry) and (os.path.normpath(entry) != current or _is_library(current))
    ]
    return path if PACKAGE_FOLDER in path else [*path, PACKAGE_FOLDER]


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _is_library(folder: str) -> bool:
    """Whether Python itself searches ``folder``, wherever it is started."""
    site = sys.modules.get("site")  # not there under -S
    installed = site.getsitepackages() if site is not None else []
    return folder in (os.path.dirname(os.__file__), *installed)
