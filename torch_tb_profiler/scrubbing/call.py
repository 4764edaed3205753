"""The Python function ``torch_tb_profiler.scrub``."""

from __future__ import annotations

import os

from torch_tb_profiler.scrubbing.copying import ScrubOptions, scrub_recording
from torch_tb_profiler.scrubbing.result import ScrubResult


def scrub(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    hash_names: bool = False,
    salt: str | None = None,
    shapes: bool = True,
) -> ScrubResult:
    """Write a copy of a recording that can be given to others, with the same figures.

    Args:
        source: A recording, or a folder of some.
        target: The copy; it must not exist, or be an empty folder.
        hash_names: Whether names of your functions, modules and ranges become hashes.
        salt: Key of the hashes, so that two copies have the same ones; None for a random one.
        shapes: Whether shapes and values of inputs stay.

    Returns:
        What was written, left out and removed, and what is left.

    Raises:
        RequestError: ``target`` exists, or is inside of ``source``.
        OpenError: nothing could be copied.
        OSError: the copy cannot be written.
    """
    options = ScrubOptions(hash_names, salt, not shapes)
    return scrub_recording(os.fspath(source), os.fspath(target), options)
