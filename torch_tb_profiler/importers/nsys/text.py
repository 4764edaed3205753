"""How texts of an export are shown."""

from __future__ import annotations

import re

MAX_CHARS = 262_144
"""Longer texts are cut."""

UNNAMED = "(unnamed)"

_QUOTED = re.compile(r'\s*"([^"]+)"')
_WINDOWS = re.compile(r"\s*([A-Za-z]:\\.*?\.exe)(?![^\s\"])", re.IGNORECASE | re.DOTALL)
"""Paths of programs that may hold blanks."""

_API_TAIL = re.compile(r"(?:_v\d+|_ptsz|_ptds)+$")


def shown(text: str) -> str:
    """A text without NUL, which ends texts in what wrote it."""
    return text.partition("\0")[0] if "\0" in text else text


def api_name(text: str) -> str:
    """A call of the CUDA API by its name in the documentation, without the version of its
    parameters and the kind of its default stream.

    >>> api_name("cudaLaunchKernel_v7000"), api_name("cuMemcpyHtoDAsync_v2_ptsz")
    ('cudaLaunchKernel', 'cuMemcpyHtoDAsync')
    """
    return _API_TAIL.sub("", text) or text


def executable(text: str) -> str:
    """The base name of a program: no folder, be there blanks in its name, and no argument.

    >>> executable("/home/me/env/bin/python3 train.py --token=x"), executable("ray::Worker")
    ('python3', 'ray::Worker')
    >>> executable(r'"C:\\Users\\Jane Doe\\python.exe" train.py')
    'python.exe'
    """
    quoted = _QUOTED.match(text) or _WINDOWS.match(text)
    first = [quoted[1]] if quoted else text.split(maxsplit=1)
    return re.split(r"[/\\]", first[0])[-1] if first else ""
