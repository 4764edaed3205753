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
from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values
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
    ranges = hosts[codes.names_match(trace, names, communication.is_communication)]
    described = collective_slices(trace)
    described = described[np.isin(category[described], HOST_COMMUNICATION_CATEGORIES)]
    around = innermost_around(trace, described, ranges)
    wrappers = np.setdiff1d(described, np.concatenate((around, ranges)))
    calls: Int64 = np.sort(np.concatenate((ranges, wrappers)))
    return calls


@per_trace
def host_transfers(trace: Trace) -> Int64:
    """Those of :func:`host_calls` during whose range the data moves, ascending; all others only
    enqueue work on a device."""
    calls = host_calls(trace)
    names = trace.slices["name_code"].to_numpy()[calls]
    names_backend = codes.names_match(trace, names, _has_backend)
    by_name = codes.names_match(trace, names, _runs_on_host)
    transfers: Int64 = calls[np.where(names_backend, by_name, _groups_on_host(trace, calls))]
    return transfers


@per_trace
def timed_on_host(trace: Trace) -> Int64:
    """Those of :func:`host_transfers` whose backend launched no communication kernel in this
    recording, ascending: the collective ran during their range. For all others it ran during the
    kernels."""
    transfers = host_transfers(trace)
    if not len(transfers):
        return transfers
    kernels = np.flatnonzero(kernel_kinds(trace).is_communication)
    launch = indices(trace.device_work["launch"])[kernels]
    launching = innermost_around_start(trace, host_calls(trace), launch)
    on_device = distinct_values(_backends(trace, launching[launching >= 0]))
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
    job_on_host = job.backend is not None and communication.runs_on_host(job.backend)
    group_on_host = {
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
        trace,
        joined["group_code"],
        lambda name: group_on_host.get(name, job_on_host),
        absent=job_on_host,
    )
