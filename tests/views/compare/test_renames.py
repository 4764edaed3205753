"""Renamed operators and kernels: a trace against itself under other names must give the renaming
back; what was dropped or inserted must stay unpaired."""

from __future__ import annotations

import time
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import traces as t
from tests.helpers.examples import examples
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.compare.renames import renames_of
from torch_tb_profiler.views.compare.steps import step_basis, step_rows
from torch_tb_profiler.views.compare.view import compare

ALL = Selection()
OPERATORS = ("mm", "conv", "norm", "gelu", "softmax", "add", "copy")
SHAPES = ([[8, 8]], [[16, 8]], [[8, 16]])
Call = tuple[str, list[list[int]], list[str]]
"""An operator, its shapes, and its kernels."""


def program(random: Random, calls: int = 24) -> list[Call]:
    """The calls of a step: the kernels of an operator follow from its name and shapes."""
    kernels: dict[tuple[str, int], list[str]] = {}
    step: list[Call] = []
    for _ in range(calls):
        name, shape = random.choice(OPERATORS), random.randrange(len(SHAPES))
        own = kernels.setdefault(
            (name, shape), [f"{name}_k{shape}_{i}" for i in range(random.choice((1, 1, 1, 2, 3)))]
        )
        step.append((f"aten::{name}", SHAPES[shape], own))
    return step


def trace_of(step: list[Call], *, steps: int = 2, renames: dict[str, str] | None = None) -> Trace:
    """Steps of these calls, with a launch per kernel, under other names."""
    names = renames or {}
    events: list[t.Event] = []
    corr = at = 0
    for number in range(steps):
        start = at
        for operator, shape, kernels in step:
            called = names.get(operator, operator)
            events.append(t.op(called, at + 1, 10 * len(kernels) + 2, shape=shape, ext=corr + 1))
            for index, kernel in enumerate(kernels):
                corr += 1
                events += [
                    t.call("cudaLaunchKernel", at + 2 + 10 * index, 3, corr=corr),
                    t.kernel(names.get(kernel, kernel), at + 8 + 10 * index, 5, corr=corr),
                ]
            at += 10 * len(kernels) + 4
        events.append(t.step(number, start, at - start))
        at += 5
    return t.trace(events)


def renamed(a: Trace, b: Trace) -> tuple[dict[str, str], dict[str, str]]:
    """Pairs of operators and of kernels, candidate → baseline."""
    bases = [step_basis(each, ALL, step_rows(each, ALL), False) for each in (a, b)]
    pairs = renames_of((bases[0], bases[1]), (None, None))
    every = [*pairs.operators.values(), *pairs.kernels.values(), *pairs.local.values()]
    assert all(50 <= pair.confidence_pct <= 100 and pair.reason for pair in every)
    of_operators, of_kernels = (
        {pair.candidate: pair.baseline for pair in each.values()}
        for each in (pairs.operators, pairs.kernels)
    )
    return of_operators, of_kernels


def new_names(random: Random, names: set[str], share: float) -> dict[str, str]:
    """Names without anything in common with the old ones, for some of them."""
    return {
        name: f"renamed {random.getrandbits(48):x}"
        for name in sorted(names)
        if random.random() < share
    }


@examples(20)
@given(seed=st.integers(0, 10**6), share=st.sampled_from((0.2, 0.6, 1.0)))
def test_a_renaming_is_given_back(seed: int, share: float) -> None:
    """Kernels, and a part of the operators, under random names."""
    random = Random(seed)
    step = program(random)
    kernels = {kernel for _, _, own in step for kernel in own}
    of_kernels = new_names(random, kernels, share)
    of_operators = new_names(random, {name for name, _, _ in step}, share / 3)
    other = trace_of(step, steps=3, renames=of_kernels | of_operators)
    operators, pairs = renamed(trace_of(step), other)
    assert pairs == {new: old for old, new in of_kernels.items()}
    assert operators.items() <= {new: old for old, new in of_operators.items()}.items()


def test_most_of_a_renaming_is_given_back_with_calls_dropped_and_inserted() -> None:
    """A tenth of the calls dropped, a tenth inserted, with kernels that only one side has."""
    right = wrong = expected = 0
    for seed in range(20):
        random = Random(seed)
        step = program(random, 40)
        names = new_names(random, {kernel for _, _, own in step for kernel in own}, 0.7)
        other = [call for call in step if random.random() > 0.1]
        for number in range(4):
            extra: Call = (f"aten::{random.choice(OPERATORS)}", SHAPES[0], [f"extra_{number}"])
            other.insert(random.randrange(len(other)), extra)
        left = {kernel for _, _, own in other for kernel in own}
        truth = {new: old for old, new in names.items() if old in left}
        pairs = renamed(trace_of(step), trace_of(other, renames=names))[1]
        right += sum(truth.get(new) == old for new, old in pairs.items())
        wrong += sum(truth.get(new) != old for new, old in pairs.items())
        expected += len(truth)
    assert right / expected > 0.95, (right, wrong, expected)
    assert right / (right + wrong) > 0.95, (right, wrong, expected)


def test_what_stands_elsewhere_stays_unpaired() -> None:
    a = trace_of([("aten::mm", SHAPES[0], ["gemm"]), ("aten::gelu", SHAPES[0], ["gelu"])])
    b = trace_of([("aten::conv", SHAPES[1], ["conv"]), ("aten::mm", SHAPES[0], ["gemm"])])
    assert renamed(a, b) == ({}, {})


def test_a_pair_is_one_row_of_both_sides() -> None:
    step = [("aten::mm", SHAPES[0], ["gemm_a", "reduce"]), ("aten::gelu", SHAPES[0], ["gelu"])]
    view = compare(trace_of(step), ALL, trace_of(step, renames={"gemm_a": "Cijk"}), ALL)
    rows = {row["name"]: row for row in view.tables["kernels"].frame.rows(named=True)}
    assert rows.keys() == {"gemm_a", "reduce", "gelu"}
    pair = rows["gemm_a"]
    assert (pair["paired_with"], pair["pair_confidence_pct"]) == ("Cijk", 100)
    assert pair["pair_reason"] == "same operator, same shapes, same position"
    assert (pair["baseline_calls"], pair["candidate_calls"], pair["delta_total_us"]) == (2, 2, 0)
    assert rows["gelu"]["paired_with"] is None
    (leaf,) = [
        row for row in view.tables["drill_down"].frame.rows(named=True) if row["name"] == "gemm_a"
    ]
    assert (leaf["paired_with"], leaf["change"]) == ("Cijk", None)


def test_a_kernel_replaced_in_one_operator_is_paired_there() -> None:
    """Both sides have both kernels, but at one operator the other one runs."""
    a = [("aten::mm", SHAPES[0], ["k1"]), ("aten::conv", SHAPES[0], ["k2"])]
    b = [("aten::mm", SHAPES[0], ["k2"]), ("aten::conv", SHAPES[0], ["k2"])]
    b.append(("aten::add", SHAPES[0], ["k1"]))
    bases = [step_basis(each, ALL, step_rows(each, ALL), False) for each in map(trace_of, (a, b))]
    pairs = renames_of((bases[0], bases[1]), (None, None))
    assert not pairs.kernels
    pair = pairs.local_pair("", "aten::mm", "k2")
    assert pair is not None
    assert (pair.baseline, pair.candidate, pair.confidence_pct) == ("k1", "k2", 100)
    assert len(pairs.local) == 1


def test_pairing_takes_time_in_proportion_to_the_calls() -> None:
    random = Random(1)
    step = program(random, 2000)
    names = new_names(random, {kernel for _, _, own in step for kernel in own}, 1)
    a, b = trace_of(step, steps=4), trace_of(step, steps=4, renames=names)
    started = time.process_time()
    assert len(renamed(a, b)[1]) == len(names)
    assert time.process_time() - started < 5
