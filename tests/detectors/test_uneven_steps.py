"""Steps that last far longer than the others."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace

from tests.detectors.scenes import context, finding, load
from tests.helpers.traces import Event, annotation, op, step, trace
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.analysis.steps.iterations.split import split_iterations
from torch_tb_profiler.detectors.uneven_steps import detect, step_list
from torch_tb_profiler.evidence.context import Context
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS, SideTable

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def steps(*lengths: float, inside: tuple[Event, ...] = ()) -> Trace:
    """Steps 1, 2, … one after the other."""
    starts = [sum(lengths[:number]) for number in range(len(lengths))]
    return trace(
        [*(step(n + 1, at, lengths[n]) for n, at in enumerate(starts)), *inside],
    )


def test_the_gain_is_the_mean_less_the_median() -> None:
    advice = finding(detect(context(steps(100, 120, 100, 480))))
    # Sorted 100 100 120 480: the median is 110, the mean 200.
    assert advice.measured == pytest.approx(480 / 110)
    assert advice.gain_us == pytest.approx(90)
    assert list(advice.rows) == [
        {
            "step": "4",
            "total_us": 480.0,
            "excess_us": 370.0,
            "grew_most": "Other",
            "growth_us": 370.0,
        }
    ]
    assert advice.variant == "default"
    assert advice.note().text.startswith(
        "Step 4 took 480 µs, 4.4 times the median step (110 µs). The part that grew most is "
        "Other, by 370 µs."
    )


def timed(warmup: int, traced: int, count: int) -> SideTable:
    """What a recorder tells of steps 1, 2, …: how many are warm-up, and how many then traced."""
    schema = SIDE_SCHEMAS["timed_steps"]
    rows = [
        {
            "phase": "train",
            "step": number,
            "is_warmup": number <= warmup,
            "is_traced": warmup < number <= warmup + traced,
        }
        for number in range(1, count + 1)
    ]
    return SideTable("timed_steps", "a journal", pl.DataFrame(rows, schema=schema))


def test_steps_that_a_recorder_slowed_or_warmed_up_in_are_left_out() -> None:
    recorded = steps(900, 400, 400, 100, 100, 100, 100)
    usual = replace(recorded, side={"timed_steps": timed(1, 2, 7)})
    assert detect(context(recorded)) is not None
    assert detect(context(usual)) is None
    written = steps(100, 400, 400, 900, 100, 100, 100)  # the trace, in step 4
    assert detect(context(replace(written, side={"timed_steps": timed(1, 2, 7)}))) is None
    few = replace(recorded, side={"timed_steps": timed(1, 5, 7)})
    assert finding(detect(context(few))).measured == pytest.approx(9)


@pytest.mark.parametrize(
    "prompts", ["execute_context_2(512)_generation_5(5)", "step[EXTEND bs=15 toks=15360]"]
)
def test_prompts_of_a_server_are_nothing_to_gain(prompts: str) -> None:
    advice = finding(detect(context(steps(100, 480, 100, inside=(annotation(prompts, 110, 400),)))))
    assert (advice.variant, advice.gain_us, advice.at_stake_us) == ("serving", None, None)
    assert "prefill takes longer" in advice.text


def test_a_key_node_that_is_called_again_and_again_is_nothing_to_gain() -> None:
    """Four steps of 1000 µs with five calls of aten::mm in the first 100 of each."""
    calls = [op("aten::mm", at + 20 * n, 10) for at in (0, 1000, 2000, 3000) for n in range(5)]
    recorded = trace([*(step(n + 1, 1000 * n, 1000) for n in range(4)), *calls])
    assert detect(context(recorded)) is None
    advice = finding(detect(context(split_iterations(recorded, "start:aten::mm"))))
    assert (advice.variant, advice.gain_us, advice.at_stake_us) == ("cuts", None, None)
    assert "called several times in each repetition" in advice.text


def test_the_part_that_grew_most_is_named() -> None:
    """Step 3 loads 150 of its 300, step 4 150 of its 250; operators take what the others take."""
    inside = (
        *(op("aten::mm", at, 80) for at in (0, 100)),
        op("aten::mm", 200, 140),
        op(LOADER, 340, 150),
        op("aten::mm", 500, 80),
        op(LOADER, 580, 150),
        *(op("aten::mm", at, 80) for at in (750, 850, 950)),
    )
    advice = finding(detect(context(steps(100, 100, 300, 250, 100, 100, 100, inside=inside))))
    assert advice.values == {
        "steps": "Steps 3 and 4",
        "longest": "up to 300 µs",
        "median": "100 µs",
        "part": "DataLoader",
        "excess": "up to 150 µs",
        "steady": "Suggested range: steps 5–7, which vary by 0.0 %.",
    }
    assert [(row["step"], row["excess_us"], row["grew_most"]) for row in advice.rows] == [
        ("3", 200.0, "DataLoader"),
        ("4", 150.0, "DataLoader"),
    ]
    # 1050 over 7 steps less 100.
    assert advice.gain_us == pytest.approx(50)


def test_the_first_steps_are_taken_for_warm_up() -> None:
    slow = finding(detect(context(steps(900, 500, 100, 100, 100))))
    assert slow.variant == "first"
    assert slow.values["steps"] == "Steps 1 and 2"
    assert "schedule(wait=1, warmup=2" in slow.note().text
    assert finding(detect(context(steps(900, 100, 100, 500, 100)))).variant == "default"


def test_the_first_step_selected_is_no_warm_up() -> None:
    of = steps(100, 900, 100, 100, 100)
    assert finding(detect(Context(of, Selection(steps="2:5")))).variant == "default"
    of = steps(900, 100, 100, 100)
    assert finding(detect(Context(of, Selection(steps="1:3")))).variant == "first"


@pytest.mark.parametrize("lengths", [(100, 100, 200), (100, 900), (500,), (100, 100, 100)])
def test_even_or_few_steps_are_not(lengths: tuple[float, ...]) -> None:
    assert detect(context(steps(*lengths))) is None


def test_the_others_selected_are_even() -> None:
    of = steps(900, 100, 110, 120)
    assert detect(context(of)) is not None
    assert detect(Context(of, Selection(steps="2:4"))) is None


def test_steps_that_a_time_range_cuts_are_not_compared() -> None:
    """From 80 to 220 there are 20 of step 1, step 2, and 20 of step 3: 2 is five times the median,
    but no longer than the others."""
    of = steps(100, 100, 100, 100)
    base = of.steps["start_ns"][0]
    split_iterations = Selection(start_ns=base + 80_000, end_ns=base + 220_000)
    assert Context(of, split_iterations).windows.names == ["2"]
    assert detect(Context(of, split_iterations)) is None


def test_a_mean_below_the_median_is_no_gain() -> None:
    """Sorted 10 10 100 100 210: the median is 100, the mean 86."""
    advice = finding(detect(context(steps(10, 10, 100, 100, 210))))
    assert advice.measured == pytest.approx(2.1)
    assert advice.gain_us is None


def test_steps_of_no_length_are_not() -> None:
    assert detect(context(steps(0, 0, 0, 500))) is None


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["6"], "Step 6"),
        (["2", "6"], "Steps 2 and 6"),
        (["1", "2", "3"], "Steps 1, 2 and 3"),
        (["1", "2", "3", "4"], "Steps 1, 2, 3 and 1 more"),
    ],
)
def test_how_steps_are_listed(names: list[str], text: str) -> None:
    assert step_list(names, 3) == text


def test_the_sample_with_one_slow_step(samples: Path) -> None:
    """Steps of 16 to 20 ms and one of 453 ms (the overview's table of steps)."""
    (path,) = (samples / "cpu_resnet_full").glob("*.gz")
    advice = finding(detect(context(load(path))))
    assert advice.measured == pytest.approx(452.81 / 19.57, rel=1e-3)
    assert [(row["step"], row["grew_most"]) for row in advice.rows] == [("6", "CPU Exec")]
    mean_us = (20.22 + 15.63 + 19.57 + 16.85 + 452.81) * 1000 / 5
    assert advice.gain_us == pytest.approx(mean_us - 19_570, rel=1e-3)


def test_steady_samples_are_not(samples: Path) -> None:
    for folder in ("cpu_slowloader_nw0", "cpu_slowloader_nw2", "kineto_resnet50_nw0"):
        for path in (samples / folder).glob("*.gz"):
            assert detect(context(load(path))) is None


def test_very_short_steps_are_not_called_uneven() -> None:
    """Python alone takes as long, in a run that a recorder timed."""
    for length_us, is_reported in ((20, False), (200, True)):
        steps = [step(n, n * 1000, length_us * (5 if n == 6 else 1)) for n in range(1, 8)]
        recorded = replace(trace(steps), side={"timed_steps": timed(1, 0, 7)})
        result = detect(Context(recorded, Selection()))
        assert (result is not None) == is_reported
    assert "1 step is excluded: warm-up" in result.note().text  # type: ignore[union-attr]
