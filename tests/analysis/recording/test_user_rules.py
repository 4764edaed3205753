"""Rules of a user in one trace: communication, Tensor Cores, types; and which source is named."""

from __future__ import annotations

from tests.helpers.traces import annotation, call, kernel, op, step, trace
from torch_tb_profiler.analysis.algebra import codes
from torch_tb_profiler.analysis.communication.records import records
from torch_tb_profiler.analysis.recording.kernel_kinds import RecognizedBy, kernel_kinds
from torch_tb_profiler.analysis.recording.user_rules import kernel_kind, kernel_types, user_rules
from torch_tb_profiler.knowledge.user_rules import parse_user_rules
from torch_tb_profiler.trace.model import Trace

RULES = b"""
[[kernel]]
match = "lab::exchange"
category = "communication"

[[kernel]]
match = "lab::product"
category = "gemm"
tensor-core = true
dtype = "fp8"

[[kernel]]
match = "ncclDevKernel_Broadcast"
category = "copy"
"""

LAUNCHES = (
    ("void lab::exchange<8>(int*)", "my::op"),
    ("void lab::product(int)", "my::op"),
    ("ncclDevKernel_Broadcast_RING(int)", "my::op"),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", "my::op"),
    ("lab_nameless", "my::op"),
    ("lab_nameless", "aten::mul"),
    ("lab_nameless", "nccl:all_reduce"),
    ("lab_nameless", "c10d::allreduce_"),
)


def _trace(rules: bytes = b"") -> Trace:
    events = [step(1, 0, 1000)]
    for number, (name, around) in enumerate(LAUNCHES, 1):
        start = number * 100
        ranged = annotation if around.startswith("nccl") else op
        events += [
            ranged(around, start, 50),
            call("cudaLaunchKernel", start + 1, 2, corr=number),
            kernel(name, start + 10, 20, corr=number),
        ]
    built = trace(events)
    if rules:
        user_rules.provide(built, parse_user_rules(rules, "rules.toml"))
    return built


def test_without_rules_a_private_kernel_is_recognized_by_nothing() -> None:
    kinds = kernel_kinds(_trace())
    assert kinds.is_communication.tolist() == [False, False, True, True, False, False, True, True]
    assert kinds.recognized_by.tolist() == [
        RecognizedBy.NOTHING,
        RecognizedBy.NOTHING,
        RecognizedBy.NAME,
        RecognizedBy.NAME,
        RecognizedBy.NOTHING,
        RecognizedBy.OPERATOR,
        RecognizedBy.RANGE,
        RecognizedBy.RANGE,
    ]


def test_rules_of_the_user_decide_before_ours() -> None:
    built = _trace(RULES)
    kinds = kernel_kinds(built)
    assert kinds.is_communication.tolist() == [True, False, False, True, False, False, True, True]
    assert kinds.tensor_core.tolist()[:3] == [codes.NO, codes.YES, codes.NO]
    assert kinds.recognized_by.tolist()[:4] == [RecognizedBy.USER_RULE] * 3 + [RecognizedBy.NAME]
    assert kernel_kind(built, LAUNCHES[1][0]).kind == "gemm"
    assert kernel_types(built, LAUNCHES[1][0]) == ("float8",)
    assert kernel_types(built, "k<__nv_bfloat16>(int)") == ("bfloat16",)


def test_a_kernel_that_a_rule_calls_communication_is_a_collective_call() -> None:
    others = ["nccl:all_reduce", "nccl:all_reduce", "lab_nameless"]
    names = records(_trace()).frame["name"].to_list()
    assert names == ["nccl:broadcast", *others]
    names = records(_trace(RULES)).frame["name"].to_list()
    assert names == ["lab::exchange", *others]
