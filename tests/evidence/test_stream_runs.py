"""Runs of kernels on a stream, against a plain loop over the kernels of each stream."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.detectors.scenes import launched
from tests.helpers.traces import Event, op, trace
from torch_tb_profiler.evidence.kernel_groups import eager_attention
from torch_tb_profiler.evidence.stream_runs import FUSABLE, fusion_savings
from torch_tb_profiler.knowledge.kernels import classify

OPERATORS = {
    "aten::bmm": "ampere_sgemm_128x64_nn",
    "aten::mm": "ampere_sgemm_64x32_nn",
    "aten::_softmax": "void softmax_warp_forward<float, float, float, 9, false>",
    "aten::add": "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>",
    "aten::sum": "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
    "aten::topk": "void at::native::mbtopk::gatherTopK<float, unsigned int>",
}
Kernel = tuple[str, int, int]
KERNELS = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATORS)), st.integers(1, 9), st.integers(1, 2)),
    max_size=14,
)


def built(kernels: list[Kernel]) -> list[Event]:
    """Operator, duration and stream of each, one after the other."""
    events: list[Event] = []
    for number, (name, dur, stream) in enumerate(kernels):
        at = 20 * number
        events.append(op(name, at, 5))
        events += launched(
            OPERATORS[name], at + 8, dur, number + 1, launch_at=at + 1, stream=stream
        )
    return events


def streams(kernels: list[Kernel]) -> list[list[int]]:
    """The numbers of the kernels of each stream, in order; streams stand by number."""
    return [[i for i, kernel in enumerate(kernels) if kernel[2] == of] for of in (1, 2)]


def in_rows(kernels: list[Kernel]) -> list[int]:
    """Number of the kernel in each row of ``device_work``: by stream as each first appears."""
    first = sorted((numbers[0], numbers) for numbers in streams(kernels) if numbers)
    return [number for _, numbers in first for number in numbers]


def between_products(names: list[str]) -> set[int]:
    """Places that stand between two batched products with a softmax, and nothing else."""
    products = [i for i, name in enumerate(names) if name == "aten::bmm"]
    attention_rows: set[int] = set()
    for first, second in pairwise(products):
        inside = names[first + 1 : second]
        if "aten::_softmax" in inside and not {"aten::mm", "aten::topk"} & set(inside):
            attention_rows |= set(range(first + 1, second))
    return attention_rows


@given(KERNELS)
def test_attention_is_what_stands_between_two_batched_products(kernels: list[Kernel]) -> None:
    select_kernels = eager_attention(trace(built(kernels))).tolist()
    expected = {
        numbers[row]
        for numbers in streams(kernels)
        for row in between_products([kernels[number][0] for number in numbers])
    }
    assert {
        number for number, is_in in zip(in_rows(kernels), select_kernels, strict=True) if is_in
    } == (expected)


@given(KERNELS, st.sampled_from([0.25, 0.5, 1.0]))
def test_a_run_saves_what_its_longest_kernel_leaves(kernels: list[Kernel], at_most: float) -> None:
    saved = dict(zip(in_rows(kernels), fusion_savings(trace(built(kernels)), at_most), strict=True))
    for numbers in streams(kernels):
        run: list[int] = []
        for number in [*numbers, None]:
            if number is not None and classify(OPERATORS[kernels[number][0]]).kind in FUSABLE:
                run.append(number)
                continue
            durations = [kernels[member][1] for member in run]
            share = min(at_most, 1 - max(durations) / sum(durations)) if run else 0
            assert [saved[member] for member in run] == pytest.approx([share] * len(run))
            assert number is None or saved[number] == 0
            run = []
