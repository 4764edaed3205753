"""Messages of ``record`` at its end: each rank, what is missing, and the overhead."""

from __future__ import annotations

import pytest

from torch_tb_profiler.cli.record_messages import overhead_text, report_lines, why_nothing
from torch_tb_profiler.recorder import notes
from torch_tb_profiler.recorder.options import Options
from torch_tb_profiler.recorder.run_folder.finish import FinishedRun, FinishedWindow, FinishedWorker
from torch_tb_profiler.recorder.samples.gpu_samples import NO_DRIVER
from torch_tb_profiler.recorder.throughput.figures import Distribution, StepFigures, Throughput

OPTIONS = Options(folder="/run")


def figures(steps: int, median_us: float) -> StepFigures:
    spread = Distribution(median_us, median_us, median_us, median_us, median_us)
    return StepFigures(steps, None, None, spread, None, None, None)


def worker(name: str, traced: int = 5, **more: object) -> FinishedWorker:
    throughput = Throughput(1, "", figures(90, 10_000), traced=figures(traced, 12_000))
    windows = (FinishedWindow(f"{name}.1.pt.trace.json.gz", 5, 9),)
    given = {"windows": windows, "steps": 100, "ended": "exit", "throughput": throughput, **more}
    return FinishedWorker(name, f"{name}.record.jsonl.gz", **given)  # type: ignore[arg-type]


def test_each_rank_has_a_line_and_reasons_appear_once() -> None:
    reasons = (("gpu_samples", "There is no GPU."),)
    killed = worker(
        "rank1", ended="signal SIGKILL", reasons=reasons,
        windows=(FinishedWindow(None, problem="The disk is full."),),
    )  # fmt: skip
    run = FinishedRun("/run", (worker("rank0", reasons=reasons), killed))
    assert list(report_lines(run, OPTIONS))[:-1] == [
        "  rank0: a trace of steps 5 to 9; 100 steps timed (median 10 ms)",
        "  rank1: no trace; 100 steps timed (median 10 ms); ended by signal SIGKILL",
        "  not recorded: There is no GPU.",
        "  lost: The disk is full. (rank1)",
    ]


def test_a_machine_without_gpus_is_not_mentioned() -> None:
    run = FinishedRun("/run", (worker("rank0", reasons=(("gpu_samples", NO_DRIVER),)),))
    assert not any("NVIDIA" in line for line in report_lines(run, OPTIONS))


def test_an_overhead_within_the_noise() -> None:
    """Five steps of 4 ms, up to 12 with a profiler; 7 ms without: the difference is not
    significant."""
    small = "within the variation"
    for median_us, message in ((4000.0, small), (7500.0, small), (70e3, "+900")):
        slow = Distribution(0, 0, 0, median_us, median_us + 8000)
        usual = Distribution(0, 0, 0, 7000, 8000)
        both = Throughput(
            1, "", StepFigures(90, None, None, usual, None, None, None),
            traced=StepFigures(5, None, None, slow, None, None, None),
        )  # fmt: skip
        assert message in str(overhead_text([worker("rank0", throughput=both)]))


def test_one_slow_step_of_a_window_does_not_hide_the_overhead() -> None:
    """Steps from 10 ms are slower than steps of 6 ms, regardless of a single outlier."""
    assert Distribution(120e3, 600e3, 10e3, 10.7e3, 480e3).median_error(5) == pytest.approx(700)


def test_of_many_ranks_the_first_are_listed() -> None:
    run = FinishedRun("/run", tuple(worker(f"rank{i}") for i in range(20)))
    lines = list(report_lines(run, OPTIONS))
    assert "  and 12 more" in lines
    assert len(lines) == 10


def test_the_overhead_compares_medians_of_traced_and_other_steps() -> None:
    text = overhead_text([worker("rank0", overhead_pct=0.5)])
    assert text == (
        "Overhead: median step 12 ms with the profiler, 10 ms without (+20 %); "
        "the recorder itself used 0.5 % of a core."
    )
    assert "unknown" in str(overhead_text([worker("rank0", traced=2)]))
    assert "no profiler ran" in str(overhead_text([worker("rank0", 0, overhead_pct=1, windows=())]))
    assert overhead_text([]) is None


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "-I, -E or -S"),
        ([notes.TOO_OLD], "too old"),
        ([notes.PYTHON, notes.TOO_OLD], "no process imported torch"),
        ([notes.PYTHON, notes.NO_TORCH], "could not be imported"),
        ([notes.PYTHON, notes.TORCH], "no process took a step"),
        ([notes.PYTHON, notes.TORCH, notes.FAILED], "the recorder failed"),
    ],
)
def test_the_reason_is_that_of_the_process_that_got_furthest(
    events: list[str], message: str
) -> None:
    assert message in why_nothing([(event, 1, "") for event in events])
