"""How far a recording tells which of its kernels communicate.

A kernel that no source recognizes (``RecognizedBy.NOTHING``) may move data between devices. Where
the program is distributed, times of communication are therefore lower bounds; and where nothing of
it is recognized, they are unknown, not 0. Definitions: ``docs/metrics.md#what-is-not-recognized``.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from torch_tb_profiler.analysis.communication.calls import host_calls, timed_on_host
from torch_tb_profiler.analysis.recording.kernel_kinds import RecognizedBy, kernel_kinds
from torch_tb_profiler.knowledge.communication import communication_file
from torch_tb_profiler.trace.columns import Bools
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.info import JobInfo
from torch_tb_profiler.trace.model import Trace

NOTHING_COMMUNICATES = (
    "The program is distributed, but nothing in the recording is recognized as communication."
)


class CommunicationCertainty(Struct, frozen=True):
    """What is known of the communication of a recording.

    Attributes:
        is_distributed: The recording says that several ranks took part.
        communicates: A kernel or a range of the host is recognized as communication.
        kernel_ns: Summed duration of the kernels.
        unrecognized_ns: The part of it in kernels that may or may not communicate.
    """

    is_distributed: bool
    communicates: bool
    kernel_ns: int
    unrecognized_ns: int

    @property
    def unrecognized_pct(self) -> float:
        """The share of the kernel time in kernels that may or may not communicate."""
        return self.unrecognized_ns / self.kernel_ns * 100 if self.kernel_ns else 0.0

    @property
    def null_reason(self) -> str | None:
        """Why times of communication are unknown; None where they are known, also as a bound."""
        if not self.is_distributed or self.communicates:
            return None
        if not self.unrecognized_ns:
            return NOTHING_COMMUNICATES
        return (
            f"{NOTHING_COMMUNICATES} {self.unrecognized_pct:.1f} % of the kernel time is in "
            "kernels that are not recognized at all."
        )

    @property
    def is_lower_bound(self) -> bool:
        """Whether times of communication are known only as lower bounds."""
        most_pct = communication_file().max_unrecognized_pct
        return self.is_distributed and self.communicates and self.unrecognized_pct > most_pct


@per_trace
def may_communicate(trace: Trace) -> Bools:
    """Per row of device work whether it is a kernel of which it is unknown whether it communicates:
    nothing recognizes it, and several ranks took part."""
    kinds = kernel_kinds(trace)
    mask: Bools = kinds.is_kernel & (kinds.recognized_by == RecognizedBy.NOTHING)
    return mask & communication_certainty(trace).is_distributed


@per_trace
def communication_certainty(trace: Trace) -> CommunicationCertainty:
    """What is known of the communication of ``trace``."""
    kinds, duration = kernel_kinds(trace), trace.device_work["dur_ns"].to_numpy()
    unrecognized = kinds.is_kernel & (kinds.recognized_by == RecognizedBy.NOTHING)
    communicates = bool(kinds.is_communication.any()) or len(timed_on_host(trace)) > 0
    return CommunicationCertainty(
        communicates or len(host_calls(trace)) > 0 or is_distributed_job(trace.meta.info.job),
        communicates,
        int(np.sum(duration[kinds.is_kernel])),
        int(np.sum(duration[unrecognized])),
    )


def is_distributed_job(job: JobInfo | None) -> bool:
    """Whether the recording's description of the job names more than one rank."""
    if job is None:
        return False
    sizes = [job.world_size, *(group.size for group in job.groups or ())]
    members = [len(group.ranks or ()) for group in job.groups or ()]
    return max((size or 0 for size in (*sizes, *members)), default=0) > 1
