"""What a recording of several ranks says of its communication: null, a lower bound, or known."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.communication.certainty import (
    CommunicationCertainty,
    communication_certainty,
    is_distributed_job,
    may_communicate,
)
from torch_tb_profiler.analysis.communication.roles import Role
from torch_tb_profiler.analysis.idle.utilization import gpu_profiles, gpu_use
from torch_tb_profiler.analysis.recording.user_rules import user_rules
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.costs import unknown_roles
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.knowledge.user_rules import parse_user_rules
from torch_tb_profiler.trace.info import JobInfo, ProcessGroup
from torch_tb_profiler.trace.model import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
PRIVATE = "void lab::exchange<8>(int*)"
KNOWN = "volta_sgemm_128x64_nt"
EIGHT = JobInfo(backend="nccl", rank=0, world_size=8)


def recording(
    *kernels: tuple[str, int], job: JobInfo | None = EIGHT, around: str = "my::op"
) -> Trace:
    """A step of 1000 µs with kernels of these names and lengths, one after the other."""
    events, at = [step(1, 0, 1000)], 10
    ranged = annotation if around.startswith("nccl") else op
    for number, (name, dur) in enumerate(kernels, 1):
        events += [
            ranged(around, at, 4),
            call("cudaLaunchKernel", at + 1, 2, corr=number),
            kernel(name, at + 5, dur, corr=number),
        ]
        at += dur + 10
    built = trace(events)
    info = replace(built.meta.info, job=job)
    return replace(built, meta=replace(built.meta, info=info))


def certainty(*kernels: tuple[str, int], job: JobInfo | None = EIGHT) -> CommunicationCertainty:
    return communication_certainty(recording(*kernels, job=job))


def test_where_nothing_communicates_in_a_distributed_program_it_is_unknown() -> None:
    none = recording((PRIVATE, 30), (KNOWN, 70))
    reason = unknown_roles(none)[Role.COMMUNICATION]
    assert reason.startswith("The program is distributed, but nothing in the recording is")
    assert "30.0 % of the kernel time" in reason
    assert not certainty((PRIVATE, 30), (KNOWN, 70)).is_lower_bound
    # Also where all kernels are known, as that of a step without synchronization.
    reason = unknown_roles(recording((KNOWN, 70)))[Role.COMMUNICATION]
    assert "%" not in reason


def test_a_program_of_one_process_does_not_communicate() -> None:
    for job in (None, JobInfo(), JobInfo(world_size=1), JobInfo(groups=(ProcessGroup(size=1),))):
        alone = recording((PRIVATE, 30), (KNOWN, 70), job=job)
        assert Role.COMMUNICATION not in unknown_roles(alone)
        assert not communication_certainty(alone).is_distributed
        assert not may_communicate(alone).any()


@pytest.mark.parametrize(
    ("job", "is_distributed"),
    [
        (JobInfo(world_size=2), True),
        (JobInfo(groups=(ProcessGroup(size=1), ProcessGroup(size=4))), True),
        (JobInfo(groups=(ProcessGroup(ranks=(0, 1)),)), True),
        (JobInfo(groups=(ProcessGroup(ranks=(0,)),)), False),
        (JobInfo(backend="nccl"), False),
    ],
)
def test_what_says_that_a_program_is_distributed(job: JobInfo, is_distributed: bool) -> None:
    assert is_distributed_job(job) is is_distributed


def test_unrecognized_kernels_make_communication_a_lower_bound() -> None:
    one = certainty((NCCL, 40), (PRIVATE, 2), (KNOWN, 58))
    assert (one.kernel_ns, one.unrecognized_ns) == (100_000, 2_000)
    assert one.null_reason is None
    assert one.is_lower_bound
    assert not certainty((NCCL, 41), (PRIVATE, 1), (KNOWN, 58)).is_lower_bound  # 1 %, not more
    assert not certainty((NCCL, 40), (KNOWN, 60)).is_lower_bound
    # A collective that was recorded says it as well as the job.
    assert certainty((NCCL, 40), (PRIVATE, 60), job=None).is_lower_bound


def test_a_kernel_of_a_known_operator_or_range_is_recognized() -> None:
    for around in ("aten::mul", "nccl:all_reduce"):
        built = recording((PRIVATE, 30), around=around)
        assert communication_certainty(built).unrecognized_ns == 0
        assert not may_communicate(built).any()


def test_a_rule_of_the_user_makes_it_known() -> None:
    built = recording((PRIVATE, 30), (KNOWN, 70))
    text = b'[[kernel]]\nmatch = "lab::exchange"\ncategory = "communication"\n'
    user_rules.provide(built, parse_user_rules(text, "r.toml"))
    assert Role.COMMUNICATION not in unknown_roles(built)
    assert communication_certainty(built).unrecognized_ns == 0


def test_utilization_without_communication_has_both_bounds() -> None:
    """30 µs may communicate, 50 compute, 20 communicate, of a step of 1000 µs."""
    built = recording((PRIVATE, 30), (KNOWN, 50), (NCCL, 20))
    use = gpu_use(gpu_profiles(built)[0], np.array([0]), np.array([1_000_000]))
    assert use.utilization_pct == pytest.approx(10)
    assert use.compute_utilization_pct == pytest.approx(8)
    assert use.compute_utilization_min_pct == pytest.approx(5)


def test_findings_about_computation_leave_out_what_may_communicate() -> None:
    context = Context(recording((PRIVATE, 30), (KNOWN, 50), (NCCL, 20)), Selection())
    assert context.texts(context.kernels["name_code"]).to_list() == [KNOWN]
    alone = Context(recording((PRIVATE, 30), (KNOWN, 50), job=None), Selection())
    assert context.work.height == 3
    assert alone.kernels.height == 2
