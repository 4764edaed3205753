"""Low occupancy and what limits it."""

from __future__ import annotations

import pytest

from tests.advice.scenes import ELEMENTWISE, GEMM, context, finding, one_step
from tests.helpers.traces import kernel
from torch_tb_profiler.advice.low_occupancy import block_threads, detect, limiting_reason
from torch_tb_profiler.knowledge.advice import entry

PARAMETERS = entry("low_occupancy").parameters


def test_the_gain_is_the_time_of_empty_multiprocessors() -> None:
    events = [
        kernel(ELEMENTWISE, 0, 200, occupancy=10, blocks=0.25),
        kernel("other_kernel", 300, 800, occupancy=80, blocks=4.0),
    ]
    advice = finding(detect(context(one_step(events, length=2000))))
    assert advice.values["share"] == pytest.approx(20.0)
    assert advice.values["reason"] == "fewer blocks than multiprocessors"
    assert advice.measured == pytest.approx(10.0)
    assert advice.gain_us == pytest.approx(150)


def test_other_limits_cost_an_unknown_amount() -> None:
    events = [kernel(ELEMENTWISE, 0, 200, occupancy=10, blocks=8.0, block=[32, 1, 1])]
    advice = finding(detect(context(one_step(events))))
    assert advice.gain_us is None
    assert advice.values["reason"] == "small blocks"


def test_matrix_products_rare_kernels_and_unknown_occupancy_are_not() -> None:
    assert detect(context(one_step([kernel(GEMM, 0, 200, occupancy=10)]))) is None
    rare = [kernel(ELEMENTWISE, 0, 20, occupancy=10), kernel("k", 100, 500, occupancy=90)]
    assert detect(context(one_step(rare))) is None
    assert detect(context(one_step([kernel(ELEMENTWISE, 0, 200)]))) is None


@pytest.mark.parametrize(
    ("launch", "threads", "expected"),
    [
        (("REGS", 0.5, 255, 0), 256, "fewer blocks than multiprocessors"),
        (("REGS, SMEM", 2.0, 255, 0), 256, "registers and shared memory"),
        ((None, 2.0, 255, 0), 256, "registers"),
        ((None, 2.0, 32, 100_000), 256, "shared memory"),
        ((None, 2.0, 32, 0), 32, "small blocks"),
        ((None, None, None, None), None, "the launch shape"),
    ],
)
def test_what_limits_a_kernel(
    launch: tuple[str | None, float | None, int | None, int | None],
    threads: int | None,
    expected: str,
) -> None:
    assert limiting_reason(*launch, threads=threads, parameters=PARAMETERS) == expected


@pytest.mark.parametrize(("text", "threads"), [("[32, 4, 1]", 128), (None, None), ("x", None)])
def test_threads_of_a_block(text: str | None, threads: int | None) -> None:
    assert block_threads(text) == threads
