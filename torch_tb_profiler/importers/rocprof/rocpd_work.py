"""Dispatches, copies, allocations and counters of a rocpd database."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.nsys.rows import within
from torch_tb_profiler.importers.rocprof.copies import classify_copies
from torch_tb_profiler.importers.rocprof.recording import MAX_SIZE
from torch_tb_profiler.importers.rocprof.rocpd_events import RocpdContext, select
from torch_tb_profiler.importers.rocprof.rocpd_tables import TextLookup
from torch_tb_profiler.importers.rocprof.vocabulary import RELEASES
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.constant_columns import constant
from torch_tb_profiler.trace.limits import MAX_BYTES

SIZES = tuple(f"{name}_size_{axis}" for name in ("workgroup", "grid") for axis in "xyz")
SCRATCH = "SCRATCH"
"""``level`` of allocations of scratch memory, which no table of a trace models."""


def add_dispatches(context: RocpdContext) -> None:
    """Add the dispatches; counters refer to them by their event."""
    rows = context.tables["kernel_dispatch"]
    if not len(rows):
        return
    events = context.events.of_rows(rows)
    located = context.events.located(rows)
    del located["name"]
    own = rows.ints(
        "kernel_id", "event_id", "region_name_id", "private_segment_size", "group_segment_size",
        *SIZES,
    )  # fmt: skip
    context.recording.add(
        "dispatches",
        len(rows),
        **located,
        kernel=own["kernel_id"],
        region=context.codes(own["region_name_id"]),
        external=events["correlation_id"],
        correlation=events["stack_id"],
        start=context.events.times(rows, "start"),
        end=context.events.times(rows, "end"),
        dispatch=own["event_id"],
        group_segment=within(own["group_segment_size"], MAX_BYTES),
        private_segment=within(own["private_segment_size"], MAX_BYTES),
        **{name.replace("_size", ""): within(own[name], MAX_SIZE) for name in SIZES},
    )


def add_copies(context: RocpdContext) -> None:
    """Add the copies; their agents, else their names, have the direction."""
    rows = context.tables["memory_copy"]
    if not len(rows):
        return
    located = context.events.located(rows)
    own = rows.ints("src_agent_id", "dst_agent_id", "name_id", "size")
    operations, operation = context.strings.distinct(own["name_id"])
    name, agent = classify_copies(
        context.recording.agents,
        own["src_agent_id"],
        own["dst_agent_id"],
        operation,
        operations=[text or "" for text in operations],
        texts=context.texts,
    )
    context.recording.add(
        "operations",
        len(rows),
        **{**located, "name": name, "agent": agent},
        category=constant(int(Category.MEMCPY), len(rows), np.int64),
        bytes=within(own["size"], MAX_BYTES),
        correlation=context.events.of_rows(rows)["stack_id"],
        start=context.events.times(rows, "start"),
        end=context.events.times(rows, "end"),
    )


def add_allocations(context: RocpdContext) -> None:
    """Add allocations and releases of memory; those of scratch memory are counted."""
    rows = context.tables["memory_allocate"]
    if not len(rows):
        return
    is_scratch = (rows.texts("level") == SCRATCH).fill_null(False).to_numpy()
    context.quality.add("rocprof_not_read", int(is_scratch.sum()), "scratch memory")
    chosen = np.flatnonzero(~is_scratch)
    located = context.events.located(rows)
    own = rows.ints("address", "size")
    is_release = rows.texts("type").str.contains(f"^(?:{RELEASES.pattern})$").fill_null(False)
    columns = {
        "pid": located["pid"],
        "thread": located["thread"],
        "agent": located["agent"],
        "is_release": is_release.to_numpy().astype(np.int64),
        "address": own["address"],
        "bytes": within(own["size"], MAX_BYTES),
        "time": context.events.times(rows, "start"),
    }
    context.recording.add("allocations", len(chosen), **select(columns, chosen))


def add_counters(context: RocpdContext) -> None:
    """Add the values of counters; the event that they belong to is that of a dispatch, or of a
    sample, which :mod:`.rocpd_host` reads."""
    rows = context.tables["pmc_event"]
    if not len(rows):
        return
    own = rows.ints("event_id", "pmc_id")
    sampled = context.tables["sample"].ints("event_id")["event_id"]
    chosen = np.flatnonzero(~np.isin(own["event_id"], sampled))
    infos = context.tables["info_pmc"]
    names = TextLookup(infos.ints("id")["id"], infos.texts("name"))
    texts, inverse = names.distinct(own["pmc_id"][chosen])
    key = context.texts.codes(text or "counter" for text in texts).astype(np.int64)
    context.recording.add(
        "counters",
        len(chosen),
        dispatch=own["event_id"][chosen],
        key=key[inverse],
        value=rows.floats("value")[chosen],
    )
