"""The full names that operators of MindSpore's graphs have: scopes of the program and the
operator, ``Default/network-Net/conv1-Conv2d/Conv2D-op7``.

An event has the full name or its last part; files beside it have the whole.
"""

from __future__ import annotations

import re

import polars as pl

from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

SEPARATOR = "/"
_FULL_NAME = re.compile(r"[^/]+(?:/[^/]+)*/[^/]+-op[0-9]+")


@per_trace
def operator_paths(trace: Trace) -> dict[int, str]:
    """Code of the name of a piece of device work → the full name of its operator; cached per
    trace."""
    recorded = _recorded(trace)
    paths = {}
    for code in trace.device_work["name_code"].unique().to_list():
        name = trace.text(code) or ""
        path = name if _FULL_NAME.fullmatch(name) else recorded.get(name)
        if path is not None and SEPARATOR in path:
            paths[int(code)] = path
    return paths


@per_trace
def codes_by_path(trace: Trace) -> dict[str, int]:
    """The other way round; a full name of several names is left out. Cached per trace."""
    codes: dict[str, list[int]] = {}
    for code, path in operator_paths(trace).items():
        codes.setdefault(path, []).append(code)
    return {path: each[0] for path, each in codes.items() if len(each) == 1}


def _recorded(trace: Trace) -> dict[str, str]:
    """Last part → full name, by what the timeline says, else by tables of single operators."""
    paths: dict[str, str] = {}
    for table in ("recorded_flops", "recorded_operators"):
        side = trace.side.get(table)
        if side is not None:
            names = side.frame["name"].drop_nulls().unique()
            parts = pl.DataFrame({"path": names, "name": names.str.split(SEPARATOR).list.last()})
            parts = parts.filter(parts["name"].is_unique() & (parts["name"] != parts["path"]))
            paths |= dict(parts.select("name", "path").iter_rows())
    side = trace.side.get("operator_paths")
    return paths if side is None else paths | dict(side.frame.select("name", "path").iter_rows())
