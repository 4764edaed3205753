"""The calls of collectives on the host, and which of them are the transfer itself.

A call is a host range of a communication backend (``nccl:all_reduce``), or a metadata record
(``record_param_comms``) around no such range. The range of a backend that runs on the host (gloo,
MPI) lasts as long as the transfer; a device backend only enqueues in it
(``docs/views-distributed.md#when-it-ran``).
"""

from __future__ import annotations

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.algebra.containment import innermost_around, innermost_around_start
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.analysis.recording.kernel_kinds import (
    HOST_COMMUNICATION_CATEGORIES,
    collective_slices,
    kernel_kinds,
)
from torch_tb_profiler.knowledge import communication
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace


@per_trace
def host_calls(trace: Trace) -> Int64:
    """Slice ids of the calls on the host, ascending."""
    category = trace.slices["category"].to_numpy()
    hosts = np.flatnonzero(np.isin(category, HOST_COMMUNICATION_CATEGORIES))
    names = trace.slices["name_code"].to_numpy()[hosts]
    ranges = hosts[codes.map_names(trace, names, communication.is_communication, np.bool_)]
    described = collective_slices(trace)
    described = described[np.isin(category[described], HOST_COMMUNICATION_CATEGORIES)]
    around = innermost_around(trace, described, ranges)
    wrappers = np.setdiff1d(described, np.concatenate((around, ranges)))
    calls: Int64 = np.sort(np.concatenate((ranges, wrappers)))
    return calls


@per_trace
def host_transfers(trace: Trace) -> Int64:
    """Of :func:`host_calls` those whose own range is when data moved, ascending; all others only
    hand work to a device."""
    calls = host_calls(trace)
    names = trace.slices["name_code"].to_numpy()[calls]
    named = codes.map_names(trace, names, _has_backend, np.bool_)
    by_name = codes.map_names(trace, names, _runs_on_host, np.bool_)
    transfers: Int64 = calls[np.where(named, by_name, _groups_on_host(trace, calls))]
    return transfers


@per_trace
def timed_on_host(trace: Trace) -> Int64:
    """Of :func:`host_transfers` those of a backend that launched no communication kernel in this
    recording, ascending: their range is when the collective ran. Of all others the kernels are."""
    transfers = host_transfers(trace)
    if not len(transfers):
        return transfers
    moving = np.flatnonzero(kernel_kinds(trace).is_communication)
    launch = indices(trace.device_work["launch"])[moving]
    launching = innermost_around_start(trace, host_calls(trace), launch)
    on_device = np.unique(_backends(trace, launching[launching >= 0]))
    return transfers[~np.isin(_backends(trace, transfers), on_device)]


def _backends(trace: Trace, calls: Int64) -> Int64:
    names = trace.slices["name_code"].to_numpy()[calls]
    known = ["", *communication.communication_file().backends]
    backends: Int64 = codes.map_names(
        trace, names, lambda name: known.index(communication.backend(name) or ""), np.int64
    )
    return backends


def _has_backend(name: str) -> bool:
    return communication.backend(name) is not None


def _runs_on_host(name: str) -> bool:
    return communication.runs_on_host(communication.backend(name) or "")


def _groups_on_host(trace: Trace, calls: Int64) -> Bools:
    """Per call whether the backend of its process group runs on the host; where the recording
    does not describe the group, that of the job."""
    job = trace.meta.info.job
    if job is None:
        return np.zeros(len(calls), np.bool_)
    of_job = job.backend is not None and communication.runs_on_host(job.backend)
    of_group = {
        group.name: communication.runs_on_host(group.backend)
        for group in job.groups or ()
        if group.name is not None and group.backend is not None
    }
    joined = pl.DataFrame({"slice": calls}).join(
        trace.collectives.select("slice", "group_code"),
        on="slice",
        how="left",
        maintain_order="left",
    )
    return codes.present_names_match(
        trace, joined["group_code"], lambda name: of_group.get(name, of_job), absent=of_job
    )
