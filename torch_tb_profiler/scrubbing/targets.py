"""Where a copy may be written: nowhere near the original, and over nothing."""

from __future__ import annotations

import os
from pathlib import Path

from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.storage.locations import is_url

ELSEWHERE = "Choose another name for the copy."


def check_target(source: str, target: str) -> None:
    """Refuse a copy that would replace or change something.

    Args:
        source: File or folder that is copied.
        target: File or folder of the copy.

    Raises:
        RequestError: one of them is a URL, there is no original, or the copy would be in it, over
            it or over other files.
    """
    for path in (source, target):
        if is_url(path):
            message = f"{path} is a URL; only files of this machine are copied."
            raise RequestError("bad_parameter", message, "Download it first.")
    if not os.path.exists(source):
        raise RequestError("not_found", f"{source} does not exist.", "Name a file or a folder.")
    original, copy = os.path.realpath(source), os.path.realpath(target)
    if original == copy:
        raise RequestError("bad_parameter", f"{target} is the original.", ELSEWHERE)
    if _is_inside(copy, original):
        raise RequestError("bad_parameter", f"{target} is inside of {source}.", ELSEWHERE)
    if os.path.isdir(source) and _is_inside(original, copy):
        raise RequestError("bad_parameter", f"{target} contains {source}.", ELSEWHERE)
    is_empty_folder = os.path.isdir(target) and not os.listdir(target)
    if os.path.lexists(target) and not is_empty_folder:
        message = f"{target} exists and is not overwritten."
        raise RequestError("file_exists", message, ELSEWHERE)


def single_target(target: str, base_name: str) -> Path:
    """The file of the copy of one file: ``target``, or ``base_name`` in it if it is a folder."""
    path = Path(target)
    return path / base_name if path.is_dir() else path


def _is_inside(path: str, folder: str) -> bool:
    return path != folder and os.path.commonpath([path, folder]) == folder
