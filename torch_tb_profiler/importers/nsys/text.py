"""Cleans up texts of an export: versions of API names, paths of programs."""

from __future__ import annotations

import re

UNNAMED = "(unnamed)"

_QUOTED = re.compile(r'\s*"([^"]+)"')
_WINDOWS_PATH = re.compile(r"\s*([A-Za-z]:\\.*?\.exe)(?![^\s\"])", re.IGNORECASE | re.DOTALL)
"""Windows paths of programs; they may contain spaces."""

_API_TAIL = re.compile(r"(?:_v\d+|_ptsz|_ptds)+$")


def api_name(text: str) -> str:
    """The documented name of a CUDA API call, without the version of its parameters and the kind of
    its default stream.

    >>> api_name("cudaLaunchKernel_v7000"), api_name("cuMemcpyHtoDAsync_v2_ptsz")
    ('cudaLaunchKernel', 'cuMemcpyHtoDAsync')
    """
    return _API_TAIL.sub("", text) or text


def executable(text: str) -> str:
    """The base name of a program, without folder and arguments; the name may contain spaces.

    >>> executable("/home/me/env/bin/python3 train.py --token=x"), executable("ray::Worker")
    ('python3', 'ray::Worker')
    >>> executable(r'"C:\\Users\\Jane Doe\\python.exe" train.py')
    'python.exe'
    """
    quoted = _QUOTED.match(text) or _WINDOWS_PATH.match(text)
    first = [quoted[1]] if quoted else text.split(maxsplit=1)
    return re.split(r"[/\\]", first[0])[-1] if first else ""
