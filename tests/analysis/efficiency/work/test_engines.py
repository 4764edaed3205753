"""Sums of steps of inference engines, told by the names of their ranges.

Cases: vLLM, SGLang (context, generation, mixed, before it wrote c_sq), ATOM; names that tell none;
the mask against counting the pairs of requests.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.traces import annotation, op, trace
from torch_tb_profiler.analysis.efficiency.work.call_work import call_work
from torch_tb_profiler.analysis.efficiency.work.engines import StepSums, step_sums
from torch_tb_profiler.analysis.efficiency.work.result import Reason


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        (
            "execute_6147_context_2(sq6144sk7144sqsq20971520sqsk23019520)"
            "_generation_3(sq3sk6144sqsq3sqsk6144)",
            StepSums(6147, 13288, 20971523, 23025664),
        ),
        (
            "step[EXTEND bs=1 toks=8192 c_sq=8192 c_sqsq=67108864 c_sqsk=201326592 c_sk=24576]",
            StepSums(8192, 24576, 67108864, 201326592),
        ),
        (
            "step[EXTEND bs=2 toks=12 c_sqsq=80 c_sqsk=120 c_sk=20]",
            StepSums(12, 20, 80, 120),
        ),
        ("step[DECODE bs=2 g_sqsq=2 g_sqsk=30 g_sk=30]", StepSums(2, 30, 2, 30)),
        (
            "step[MIXED bs=2 c=1 g=1 c_sq=5 c_sk=8 c_sqsq=25 c_sqsk=40 "
            "g_sq=1 g_sk=12 g_sqsq=1 g_sqsk=12]",
            StepSums(6, 20, 26, 52),
        ),
        (
            "prefill[bs=1 tok=1024 ctx=1024 sqsq=1048576 sqsk=1048576 sk=1024]",
            StepSums(1024, 1024, 1048576, 1048576),
        ),
        (
            "decode[bs=64 tok=64 d=64 sqsq=64 sqsk=65600 sk=65600]",
            StepSums(64, 65600, 64, 65600),
        ),
        ("step[EXTEND bs=2 toks=14721]", None),
        ("execute_context_2(14721)_generation_0(0)", None),
        ("step[EXTEND bs=1 c_sqsk=]", None),
        ("step[", None),
    ],
)
def test_sums_are_told_by_the_name(name: str, sums: StepSums | None) -> None:
    assert step_sums(name) == sums


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(0, 6)), min_size=1, max_size=4))
def test_the_mask_leaves_out_what_each_new_token_does_not_see(
    requests: list[tuple[int, int]],
) -> None:
    """Each request has new tokens behind those that it had before."""
    of = [(new, new + before) for new, before in requests]
    unseen = sum(
        key > before + query
        for new, before in requests
        for query in range(new)
        for key in range(new + before)
    )
    sums = StepSums(
        sum(q for q, _ in of),
        sum(k for _, k in of),
        sum(q * q for q, _ in of),
        sum(q * k for q, k in of),
    )
    assert sums.masked_pairs == unseen


QUERY, KEY = [64, 8, 128], [64, 2, 128]
ATTENTION = "vllm::unified_attention_with_output"


def test_attention_of_a_step_has_the_work_of_its_requests() -> None:
    """64 requests that generate: 131072 pairs, 8 heads of 128."""
    name = "execute_64_context_0(sq0sk0sqsq0sqsk0)_generation_64(sq64sk131072sqsq64sqsk131072)"
    types: dict[str, Any] = {"Input type": ["c10::Half"] * 4}
    arguments: dict[str, Any] = {"shape": [QUERY, KEY, KEY, QUERY], **types}
    work = call_work(
        trace(
            [
                annotation(name, 0, 100),
                op(ATTENTION, 10, 20, **arguments),
                op("_vllm_fa3_C::fwd", 12, 10, shape=[QUERY, KEY, KEY], **types),
                op(ATTENTION, 200, 20, **arguments),
            ]
        )
    )
    pairs = 131072
    flops = 4 * 8 * 128 * pairs
    assert work.flops[:2].tolist() == [flops, flops]
    assert work.uncomputed_flops[0] == 0  # one new token sees all
    # Query and output of 64 tokens; key and value of all tokens, 2 heads.
    assert work.bytes[0] == 2 * (2 * 64 * 8 * 128 + 2 * pairs * 2 * 128)
    assert work.is_counted.tolist() == [False, True, True]
    assert work.reason.tolist() == [Reason.KNOWN, Reason.KNOWN, Reason.LENGTHS]
