"""Unequal work on GPUs and workers."""

from __future__ import annotations

import pytest

from tests.detectors.scenes import context, finding, one_step
from tests.helpers.meshes import members
from tests.helpers.traces import annotation, kernel
from torch_tb_profiler.detectors.gpu_imbalance import detect, detect_across_workers


def test_the_gain_is_the_lead_of_the_busiest_over_the_mean() -> None:
    events = [kernel("k", 0, dur, device=number) for number, dur in enumerate((100, 100, 400))]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(100.0)
    assert advice.gain_us == pytest.approx(200)
    assert advice.values["busiest"] == "GPU 2"
    assert advice.spot is not None
    assert (advice.spot.start_ns, advice.spot.end_ns) == (100_000, 400_000)


def test_it_gains_no_more_than_the_busiest_computes_alone() -> None:
    """The lead is 100 µs over the mean of 200, but the others work while it does for all but 80."""
    events = [kernel("k", 0, 300, device=0), kernel("k", 80, 100, device=1)]
    events += [kernel("k", 200, 100, device=2)]
    advice = finding(detect(context(one_step(events))))
    assert advice.measured == pytest.approx(80.0)
    assert advice.gain_us == pytest.approx(100)


def test_communication_is_no_work() -> None:
    events = [
        kernel("k", 0, 100, device=0),
        kernel("k", 0, 100, device=1),
        kernel("ncclDevKernel_AllReduce(x)", 200, 300, device=0, stream=9),
    ]
    assert detect(context(one_step(events))) is None


def test_one_gpu_and_even_work_are_not() -> None:
    assert detect(context(one_step([kernel("k", 0, 100)]))) is None
    even = [kernel("k", 0, dur, device=number) for number, dur in enumerate((100, 110))]
    assert detect(context(one_step(even))) is None


def test_workers_of_a_run_are_compared() -> None:
    contexts = {
        name: context(one_step([kernel("k", 0, dur)])) for name, dur in {"a": 100, "b": 300}.items()
    }
    advice = finding(detect_across_workers(contexts))
    assert advice.measured == pytest.approx(50.0)
    assert advice.rows[0] == {"gpu": "b GPU 0", "compute_us_per_step": 300.0}


def test_in_a_run_it_gains_no_more_than_the_others_wait() -> None:
    """b computes 100 µs longer than the mean; a communicates 30 µs beside no computation."""
    events = {
        "a": [kernel("k", 0, 100), kernel("ncclDevKernel_AllReduce(x)", 90, 40, stream=9)],
        "b": [kernel("k", 0, 300)],
    }
    contexts = {name: context(one_step(each)) for name, each in events.items()}
    advice = finding(detect_across_workers(contexts))
    assert advice.gain_us == pytest.approx(30)
    assert advice.variant == "default"
    assert advice.spot is not None
    assert (advice.spot.worker, advice.spot.end_ns) == ("b", 300_000)
    nobody = {name: context(one_step([each[0]])) for name, each in events.items()}
    assert finding(detect_across_workers(nobody)).gain_us is None


def test_stages_of_a_pipeline_have_a_text() -> None:
    contexts = {
        name: context(one_step([kernel("k", 0, dur), annotation("gloo:recv", 400, 100, tid=2)]))
        for name, dur in {"a": 100, "b": 300}.items()
    }
    advice = finding(detect_across_workers(contexts))
    assert (advice.variant, advice.gain_us) == ("pipeline", None)


@pytest.mark.parametrize(
    ("durations", "variant"),
    [
        ((100, 100, 100, 300), "pipeline_rank"),  # rank 3 alone, not rank 2 of its stage
        ((100, 100, 300, 310), "pipeline"),  # both ranks of stage 1
    ],
)
def test_one_slow_rank_of_a_stage_is_no_uneven_division(
    durations: tuple[int, ...], variant: str
) -> None:
    mesh = {"pipeline": 2, "data": 2}
    contexts = {}
    for rank, duration in enumerate(durations):
        groups = [
            {"pg_name": name, "pg_desc": f"mesh_{name}", "ranks": members(mesh, dimension, rank)}
            for name, dimension in (("pp", "pipeline"), ("dp", "data"))
        ]
        events = [kernel("k", 0, duration), annotation("gloo:recv", 400, 100, tid=2)]
        header = {"backend": "gloo", "rank": rank, "world_size": 4, "pg_config": groups}
        contexts[f"rank{rank}"] = context(one_step(events, distributedInfo=header))
    advice = finding(detect_across_workers(contexts))
    assert (advice.variant, advice.values["busiest"]) == (variant, "rank3 GPU 0")
    assert advice.values["peers"] == 1
    assert advice.gain_us is None


def test_recordings_that_were_cut_short_are_not_compared() -> None:
    """Without the half of c, a and b are even."""
    contexts = {
        name: context(one_step([kernel("k", 0, dur)]))
        for name, dur in {"a": 300, "b": 300, "c": 100}.items()
    }
    assert finding(detect_across_workers(contexts)).measured == pytest.approx(100 * (900 / 700 - 1))
    contexts["c"].trace.quality.add("truncated")
    assert detect_across_workers(contexts) is None


def test_absurd_device_numbers_cost_nothing() -> None:
    numbers = (-1, 0, 2**53)
    events = [kernel("k", 0, 100 + number % 7, device=number) for number in numbers]
    assert detect(context(one_step(events))) is None
