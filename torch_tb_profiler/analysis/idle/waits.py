"""Waits: host calls that block their thread until a device or a copy is done.

Definitions: ``docs/metrics.md#idle-devices``.
"""

from __future__ import annotations

import re
from enum import IntEnum

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.algebra.intervals import total_within
from torch_tb_profiler.analysis.idle.gaps import busy
from torch_tb_profiler.analysis.recording.stated_texts import copy_texts
from torch_tb_profiler.knowledge.host_calls import call_kind, fetches_value
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int8, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

LONG_CALL_NS = 100_000
"""An asynchronous call that lasts longer waits, if a device works all the time: for a full launch
queue, or an allocation that needs the device to be idle. Else it loads code, allocates or sets
something up; a launch takes a tenth of it."""

COPY_NS = 20_000
"""An asynchronous copy that blocks its caller longer than a launch would is synchronous."""

RETURN_NS = 20_000
"""A wait returns within this time after the work it waited for."""

BUSY_SHARE = 0.9
"""Share of a long call during which some device must work for it to be a wait."""

FULL_QUEUE = 1000
"""So much pending work fills the launch queue of a device (CUDA: 1024); further launches wait."""

_FETCHES = re.compile(r"DtoH|D2[HM]|DeviceToHost|-> (Pageable|Pinned|Host|Memory)", re.IGNORECASE)
_UPLOADS = re.compile(r"HtoD|[HM]2D|HostToDevice", re.IGNORECASE)
"""Names of copies: CUDA's, HIP's (also roctracer's ``CopyHostToDevice``), and those of XPUs, which
call host memory M."""


class Wait(IntEnum):
    """What a host call waits for."""

    DEVICE = 0
    """For device work: stream, event or device synchronisation, a full queue, a release."""
    FETCH = 1
    """For a value from the device: a copy to the host, and the work before it."""
    UPLOAD = 2
    """For a copy from pageable host memory."""
    COPY = 3
    """For another copy, or one whose direction is not recorded."""


_NONE, _GRAPH, _SYNCHRONIZE, _COPY, _ASYNCHRONOUS, _RELEASE = range(-1, 5)
_KINDS = {
    None: _NONE,
    "graph": _GRAPH,
    "synchronize": _SYNCHRONIZE,
    "copy": _COPY,
    "asynchronous": _ASYNCHRONOUS,
    "release": _RELEASE,
}


@per_trace
def waits(trace: Trace) -> pl.DataFrame:
    """The calls that wait: ``id``, ``track``, ``name_code``, ``start_ns``, ``end_ns``, ``parent``,
    ``frame`` of slices and ``wait`` (:class:`Wait`), in order of id."""
    calls = trace.slices.filter(pl.col("category") == Category.RUNTIME)
    if calls.is_empty():
        return _with_ends(_fetching_operators(trace), Wait.FETCH)
    kinds = _call_kinds(trace, calls["name_code"])
    dur = calls["dur_ns"].to_numpy()
    wait = np.full(len(kinds), -1, np.int8)
    wait[np.isin(kinds, (_SYNCHRONIZE, _RELEASE))] = Wait.DEVICE
    copies = np.isin(kinds, (_COPY, _ASYNCHRONOUS))
    if copies.any():
        direction, pageable = _directions(trace, calls["id"].to_numpy())
        blocks = (kinds == _COPY) | pageable | (dur >= COPY_NS)
        wait[copies & blocks] = direction[copies & blocks]
    start = calls["start_ns"].to_numpy()
    long = np.flatnonzero((wait < 0) & (dur >= LONG_CALL_NS))
    wait[long[_wait_for_a_device(trace, start[long], start[long] + dur[long])]] = Wait.DEVICE
    short = np.flatnonzero((wait < 0) & (dur >= COPY_NS) & (kinds != _GRAPH))
    held = _wait_for_own_work(trace, calls["id"].to_numpy()[short], start[short], dur[short])
    wait[short[held]] = Wait.DEVICE
    short = short[~held]
    short = short[_wait_for_a_device(trace, start[short], start[short] + dur[short])]
    if len(short):
        wait[short[_pending(trace, start[short]) >= FULL_QUEUE]] = Wait.DEVICE
    waiting = _with_ends(calls, pl.Series(wait, dtype=pl.Int8)).filter(pl.col("wait") >= 0)
    waiting = waiting.filter(pl.Series(_outermost(waiting["track"], waiting["end_ns"])))
    fetched = pl.Series(_in_fetching_operators(trace, waiting)) & (pl.col("wait") == Wait.DEVICE)
    return waiting.with_columns(
        wait=pl.when(fetched).then(Wait.FETCH).otherwise("wait").cast(pl.Int8)
    )


@per_trace
def long_calls(trace: Trace) -> pl.DataFrame:
    """The runtime calls of :data:`LONG_CALL_NS` or more that do not wait: rows of ``trace.slices``
    in order of id. Graph launches are left out: they may take that long."""
    calls = trace.slices.filter(
        (pl.col("category") == Category.RUNTIME) & (pl.col("dur_ns") >= LONG_CALL_NS)
    )
    is_other = _call_kinds(trace, calls["name_code"]) != _GRAPH
    calls = calls.filter(pl.Series(is_other) & ~pl.col("id").is_in(waits(trace)["id"].implode()))
    ends_ns = calls["start_ns"] + calls["dur_ns"]
    return calls.filter(pl.Series(_outermost(calls["track"], ends_ns)))


@per_trace
def launches_graphs(trace: Trace) -> Bools:
    """Per row of ``trace.slices`` whether it launches a graph; made once."""
    category = trace.slices["category"].to_numpy()
    mask = np.zeros(len(category), np.bool_)
    calls = np.flatnonzero(category == Category.RUNTIME)
    mask[calls] = _call_kinds(trace, trace.slices["name_code"][calls]) == _GRAPH
    return mask


def _wait_for_a_device(trace: Trace, start_ns: Int64, end_ns: Int64) -> Bools:
    """Which long calls wait for a device: some device works nearly all the time, and the call
    returns soon after work has ended (loading of code returns at any time)."""
    worked = total_within(busy(trace), start_ns, end_ns)
    work = trace.device_work
    ends = np.sort((work["start_ns"] + work["dur_ns"]).to_numpy())
    last = np.append(ends, np.iinfo(np.int64).min)[np.searchsorted(ends, end_ns, "right") - 1]
    waiting: Bools = (worked >= BUSY_SHARE * (end_ns - start_ns)) & (last >= end_ns - RETURN_NS)
    return waiting


def _wait_for_own_work(trace: Trace, calls: Int64, start_ns: Int64, dur_ns: Int64) -> Bools:
    """Which calls last until what they launched has ended, which takes most of them: launches that
    block. (Short work may end before its launch returns, too.)"""
    work = trace.device_work.filter(pl.col("launch").is_in(pl.Series(calls).implode()))
    last = work.group_by("launch").agg(
        (pl.col("start_ns") + pl.col("dur_ns")).max().alias("end_ns"), pl.col("dur_ns").sum()
    )
    launches = pl.DataFrame({"launch": calls}, schema={"launch": work.schema["launch"]})
    launches = launches.join(last, on="launch", how="left", maintain_order="left")
    end, own = (launches[key].fill_null(0).to_numpy() for key in ("end_ns", "dur_ns"))
    waiting: Bools = (own * 2 >= dur_ns) & (end > start_ns) & (end <= start_ns + dur_ns)
    return waiting


def _pending(trace: Trace, time_ns: Int64) -> Int64:
    """How much work is launched and has not ended at some moments."""
    work = trace.device_work.filter(pl.col("launch").is_not_null())
    launched = trace.slices["start_ns"].to_numpy()[indices(work["launch"])]
    launched = np.sort(launched, kind="stable")  # both are nearly in order
    ended = np.sort((work["start_ns"] + work["dur_ns"]).to_numpy(), kind="stable")
    pending: Int64 = np.searchsorted(launched, time_ns) - np.searchsorted(ended, time_ns)
    return pending


def copy_directions(trace: Trace, copies: pl.DataFrame) -> Int8:
    """Per copy (rows of ``trace.device_work``) its direction as :class:`Wait`: ``UPLOAD`` to a
    device, ``FETCH`` from it, ``COPY`` for others and unknown ones."""
    texts = copy_texts(trace, copies)
    described = map(" ".join, zip(texts.names, texts.stated, strict=True))
    return np.array([_direction(text) for text in described], np.int8)[texts.index]


def _call_kinds(trace: Trace, names: pl.Series) -> Int8:
    kinds: Int8 = codes.map_names(trace, names.to_numpy(), lambda n: _KINDS[call_kind(n)], np.int8)
    return kinds


def _in_fetching_operators(trace: Trace, calls: pl.DataFrame) -> Bools:
    """Which calls are made by an operator that fetches a value: it waits for the copy it queued."""
    parent = indices(calls["parent"])
    names = trace.slices["name_code"].to_numpy()[np.maximum(parent, 0)]
    return codes.names_match(trace, names, fetches_value) & (parent >= 0)


def _outermost(tracks: pl.Series, ends_ns: pl.Series) -> Bools:
    """Which calls, in order of id, do not lie in another of their thread (a driver call in a
    runtime call)."""
    end = ends_ns.to_numpy()
    if not len(end):
        return np.zeros(0, np.bool_)
    # One running maximum serves all threads: each is lifted above the one before.
    end = end - end.min()  # times since boot, multiplied by the number of threads, overflow
    lift = tracks.to_numpy().astype(np.int64) * (int(end.max()) + 1)
    reach = np.maximum.accumulate(end + lift)
    outermost: Bools = np.append(True, end[1:] + lift[1:] > reach[:-1])
    return outermost


def _with_ends(calls: pl.DataFrame, wait: pl.Series | int) -> pl.DataFrame:
    return calls.select(
        "id",
        "track",
        "name_code",
        "start_ns",
        end_ns=pl.col("start_ns") + pl.col("dur_ns"),
        parent=pl.col("parent"),
        frame=pl.col("frame"),
        wait=pl.lit(wait).cast(pl.Int8),
    )


def _directions(trace: Trace, calls: Int64) -> tuple[Int8, Bools]:
    """Per call the :class:`Wait` of the copy it launched, and whether that is from or to pageable
    memory."""
    copies = trace.device_work.filter(
        (pl.col("category") == Category.MEMCPY) & pl.col("launch").is_not_null()
    )
    texts = copy_texts(trace, copies)
    described = zip(texts.names, texts.stated, strict=True)
    is_pageable = np.array([_is_pageable(*each) for each in described], np.bool_)[texts.index]
    direction = np.full(trace.slices.height, Wait.COPY, np.int8)
    pageable = np.zeros(trace.slices.height, np.bool_)
    launch = indices(copies["launch"])
    direction[launch], pageable[launch] = copy_directions(trace, copies), is_pageable
    return direction[calls], pageable[calls]


def _is_pageable(name: str, stated: str) -> bool:
    """Whether a copy is from or to pageable memory, by its name or its arguments."""
    return "Pageable" in name or "pageable" in stated.lower()


def _direction(name: str) -> int:
    if _FETCHES.search(name):
        return Wait.FETCH
    if _UPLOADS.search(name):
        return Wait.UPLOAD
    return Wait.COPY


def _fetching_operators(trace: Trace) -> pl.DataFrame:
    """Operators that wait, where the recording holds no runtime calls; the outermost of each."""
    operators = trace.slices.filter(pl.col("category") == Category.OPERATOR)
    fetches = codes.names_match(trace, operators["name_code"].to_numpy(), fetches_value)
    operators = operators.filter(pl.Series(fetches))
    is_nested = pl.col("parent").is_in(operators["id"].implode()).fill_null(value=False)
    return operators.filter(~is_nested)
