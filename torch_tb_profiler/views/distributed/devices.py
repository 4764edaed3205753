"""The devices of the workers, with machine and rank as the recordings declare them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import polars as pl

from torch_tb_profiler.analysis.communication.metadata import own_rank
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.device_properties import compute_capability, property_reasons
from torch_tb_profiler.views.distributed.columns import DEVICES
from torch_tb_profiler.views.null_reasons import needed
from torch_tb_profiler.views.schema import Table

_HOST_AND_PROCESS = re.compile(r"(?P<node>.+)_(?P<process>\d+)")
"""What torch's own ``tensorboard_trace_handler`` calls a worker."""

_REASONS = {
    "node": "The machine was not recorded.",
    "process": "The rank was not recorded.",
}


def devices_table(traces: Mapping[str, Trace]) -> Table:
    """The ``devices`` table, in the order of the workers."""
    rows, used = [], []
    for worker, trace in traces.items():
        node, process = _node_and_process(worker, trace)
        for device in trace.devices.iter_rows(named=True):
            if not device["used"]:
                continue
            used.append(device)
            rows.append(
                (
                    node,
                    process,
                    device["device"],
                    device["name"],
                    device["memory_bytes"],
                    compute_capability(device),
                    worker,
                )
            )
    frame = pl.DataFrame(rows, schema=DEVICES.polars_schema(), orient="row")
    return Table(DEVICES, frame, {**property_reasons(used), **needed(frame, _REASONS)})


def _node_and_process(worker: str, trace: Trace) -> tuple[str | None, str | None]:
    """Machine and process of a worker, as the header says; where it says neither, from a name of
    the form host_process."""
    host, rank = trace.meta.info.host_name or None, own_rank(trace)
    if host is not None or rank is not None:
        return host, None if rank is None else str(rank)
    named = _HOST_AND_PROCESS.fullmatch(worker)
    return (named["node"], named["process"]) if named else (None, None)
