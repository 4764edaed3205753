"""What could cut a recording: what an expert would take is first, and the reason says why."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.examples import examples
from tests.helpers.traces import Event, annotation, frame, op, trace
from torch_tb_profiler.analysis.steps.iterations.key_nodes import (
    NOTHING_REPEATS,
    best_key_node,
    clear_key_node,
    key_nodes,
)
from torch_tb_profiler.trace.units import NS_PER_US


def _training(steps: int, layers: int = 12) -> list[Event]:
    """Steps of 1000 µs: a data loader, layers that are called often, a loss and an optimizer."""
    events: list[Event] = []
    for begin in range(0, 1000 * steps, 1000):
        events.append(op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 40))
        events += [op("aten::stack", begin + 5, 30), op("aten::cat", begin + 10, 20)]
        for layer in range(layers):
            events.append(op("aten::layer_norm", begin + 50 + 40 * layer, 20))
        events += [
            op("aten::nll_loss", begin + 700, 20),
            op("Optimizer.step#SGD.step", begin + 800, 90),
        ]
    return events


def test_the_first_of_what_is_called_once_per_step_is_best() -> None:
    name, reason = best_key_node(trace(_training(6)))
    assert name == "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert reason == "called every 1 ms (± 0 %)"


def test_one_interval_does_not_vary() -> None:
    reasons = key_nodes(trace(_training(2)))["reason"].to_list()
    assert reasons[0] == "called every 1 ms"


def test_what_is_inside_another_one_called_as_often_ranks_lower() -> None:
    nodes = key_nodes(trace(_training(6)))
    scores = dict(zip(nodes["name"], nodes["score"], strict=True))
    reasons = dict(zip(nodes["name"], nodes["reason"], strict=True))
    assert scores["aten::stack"] < 0.8 * nodes["score"][0]
    assert reasons["aten::stack"].startswith(
        "inside another candidate that is called as often, called every "
    )
    assert "inside" not in reasons["aten::layer_norm"]
    assert scores["aten::layer_norm"] < scores["aten::nll_loss"]


def test_ranges_that_count_are_one_candidate() -> None:
    """A server's batches are of any length; both kinds of them are iterations."""
    batches, moment = [], 0
    for number in range(40):
        kind, length = ("EXTEND", 900) if number % 8 == 0 else ("DECODE", 100 + number)
        batches.append(annotation(f"step[{kind} bs={number} toks=7]", moment, length))
        batches += [op("aten::rms_norm", moment + 10 * i, 5) for i in range(8)]
        moment += length + 5
    recorded = trace(batches)
    name, reason = best_key_node(recorded)
    assert name == "step[*]"
    assert reason.startswith("one batch of SGLang, called every ")
    kept = dict(key_nodes(recorded).select("name", "calls").iter_rows())
    assert kept["step[DECODE bs=* toks=*]"] == 35
    assert kept["step[EXTEND bs=* toks=*]"] == 5


def test_executions_of_a_model_by_vllm_are_iterations() -> None:
    batches = [
        annotation(f"execute_context_{n % 2}({64 * (n % 2)})_generation_{n}({n})", 100 * n, 95)
        for n in range(10)
    ]
    layers = [op("vllm::unified_attention", 10 * n, 4) for n in range(100)]
    name, reason = best_key_node(trace(batches + layers))
    assert name == "execute_*context_*(*)_generation_*(*)"
    assert "vLLM" in reason


def test_outermost_modules_are_candidates() -> None:
    frames: list[Event] = []
    for begin in range(0, 500, 100):
        frames.append(frame("nn.Module: Net_0", begin, 90, python_id=begin, module=0))
        frames.append(
            frame("nn.Module: Linear_0", begin + 9, 9, python_id=begin + 1, parent=begin, module=0)
        )
    nodes = key_nodes(trace(frames))
    assert nodes.select("name", "kind").rows() == [("nn.Module: Net_0", "module")]


@pytest.mark.parametrize(
    "events",
    [
        [],
        [op("aten::mm", 0, 10)],
        [op("aten::mm", 0, 1), op("aten::mm", 3, 1), op("aten::add", 900, 99)],
    ],
)
def test_where_nothing_repeats_there_is_none(events: list[Event]) -> None:
    assert best_key_node(trace(events)) == (None, NOTHING_REPEATS)


@examples(40)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(1, 9), st.integers(1, 2)),
        max_size=25,
    )
)
def test_calls_and_intervals_agree_with_a_walk(ranges: list[tuple[str, int, int, int]]) -> None:
    # Ranges of one thread nest or stand apart: each begins on a tenth of its own.
    events = [annotation(name, 10 * at, length, tid=tid) for name, at, length, tid in ranges]
    nodes = key_nodes(trace(events))
    expected = {}
    for name in "abc":
        calls = _outermost([event for event in events if event["name"] == name])
        if len(calls) > 1:
            ends = sorted(event["ts"] + event["dur"] for event in calls)
            gaps = [after - before for before, after in pairwise(ends)]
            first = min(event["ts"] for event in calls)
            expected[name] = (len(calls), first, fmean(gaps), pstdev(gaps))
    found = {row["name"]: row for row in nodes.iter_rows(named=True)}
    assert set(found) == set(expected)
    for name, (number, start, mean, stddev) in expected.items():
        row = found[name]
        assert (row["calls"], row["first_start_ns"]) == (number, start * NS_PER_US)
        assert row["interval_mean_ns"] == pytest.approx(mean * NS_PER_US)
        assert row["interval_stddev_ns"] == pytest.approx(stddev * NS_PER_US)
        assert 0 <= row["score"] <= 100


def _outermost(events: list[Event]) -> list[Event]:
    """Without those inside another one of their thread; of equal ones the first stays."""
    kept: list[Event] = []
    for event in sorted(events, key=lambda each: (each["tid"], each["ts"], -each["dur"])):
        last = kept[-1] if kept and kept[-1]["tid"] == event["tid"] else None
        if last is None or event["ts"] >= last["ts"] + last["dur"]:
            kept.append(event)
    return kept


def test_a_training_step_ends_with_its_optimizer() -> None:
    """Whatever else is called as often, and however long the first steps take."""
    slow_start = [{**event, "ts": event["ts"] * 5} for event in _training(2)]
    late = [{**event, "ts": event["ts"] + 10_000} for event in _training(6)]
    name, reason = clear_key_node(trace([*slow_start, *late]))
    assert name == "Optimizer.step#SGD.step"
    assert reason == "a training step ends with the step of its optimizer"


def test_optimizers_that_take_turns_are_not_clear() -> None:
    generator = [op("Optimizer.step#Adam.step", 100 * n, 20) for n in range(8)]
    critic = [op("Optimizer.step#SGD.step", 100 * n + 50, 20) for n in range(8)]
    assert clear_key_node(trace([*generator, *critic]))[0] is None


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([annotation("train", 100 * n, 90) for n in range(6)], "train"),
        ([annotation("step[DECODE bs=4 toks=7]", 100 * n, 90) for n in range(6)], "step[*]"),
        # an operator may be called twice per iteration
        ([op("aten::linear", 100 * n, 90) for n in range(6)], None),
        # twice may be chance
        ([annotation("train", 100 * n, 90) for n in range(2)], None),
        # layers in a third of the recording
        ([*(annotation("layer", 10 * n, 9) for n in range(40)), op("aten::mm", 1000, 9)], None),
    ],
)
def test_what_is_clear_without_an_optimizer(events: list[Event], name: str | None) -> None:
    assert clear_key_node(trace(events))[0] == name
