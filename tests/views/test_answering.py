"""Answers of views: worked sentences, and of recordings what every sentence is like."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from tests.consistency.recordings import FILES, opened
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.queries.views import run_view, trace_view
from torch_tb_profiler.views.answering import counted, joined, quoted, top_row
from torch_tb_profiler.views.registry import all_views
from torch_tb_profiler.views.scales import duration_text, percent_text, size_text
from torch_tb_profiler.views.schema import Fact, Table, View
from torch_tb_profiler.views.spec import ViewSpec

MOST_CHARACTERS = 240
ANSWERING = {
    name: spec
    for name, spec in all_views().items()
    if spec.on_pages and spec.scope != "pair" and name != "overview"
}
"""Those that answer from their tables; the verdicts of the other pages have tests of their own."""


def view(name: str, tables: dict[str, list[dict[str, Any]]], **facts: Any) -> View:
    """A view of some rows, whose other columns are null, and facts ``key`` or ``key__scope``."""
    specs = {spec.name: spec for spec in ANSWERING[name].tables}
    filled = {
        key: Table(specs[key], pl.DataFrame(rows, schema=specs[key].polars_schema()))
        for key, rows in tables.items()
    }
    split = [(*(*key.split("__"), None)[:2], value) for key, value in facts.items()]
    return View(
        tables=filled, facts=tuple(Fact(k, k, value, None, scope, "?") for k, scope, value in split)
    )


def answer(name: str, tables: dict[str, list[dict[str, Any]]], **facts: Any) -> str | None:
    return ANSWERING[name].answer(view(name, tables, **facts))


def test_parts_of_sentences() -> None:
    assert [percent_text(each) for each in (0, 0.01, 63.857, 99.96, 100)] == [
        "0 %", "<0.1 %", "63.9 %", ">99.9 %", "100 %",
    ]  # fmt: skip
    assert (counted(1, "copy", "copies"), counted(1204, "call")) == ("1 copy", "1,204 calls")
    assert quoted("two\nlines") == "two lines"
    assert quoted(f"{'a' * 60}{'z' * 60}") == f"{'a' * 31}…{'z' * 16}"
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    assert quoted(loader) == "DataLoader"
    assert joined((None, "A.", None, "B.")) == "A. B."
    assert joined((None,)) is None


def test_the_top_row_is_the_first_of_the_largest_above_zero() -> None:
    rows = pl.DataFrame({"name": ["a", "b", "c", "d"], "value": [None, 2.0, 2.0, 1.0]})
    assert top_row(rows, "value") == {"name": "b", "value": 2.0}
    assert top_row(rows, "value", pl.col("name") > "c") == {"name": "d", "value": 1.0}
    assert top_row(rows, "value", pl.col("name") == "a") is None
    assert top_row(pl.DataFrame(), "value") is None


def test_operators_and_kernels() -> None:
    rows = [
        {"name": f"op{number}", "kind": "operator", "calls": number, "total_pct": pct,
         "device_self_us": 10 * pct, "short_name": f"op{number}", "total_us": 10 * pct}
        for number, pct in enumerate((40.0, 20.0, 10.0, 9.0, 8.0, 7.0), start=1)
    ]  # fmt: skip
    unlinked = {"name": "?", "kind": "unlinked", "total_pct": 50.0}
    sentence = "op1 takes 40.0 % of the GPU time (400 µs in 1 call); the first five take 87.0 %."
    assert answer("operators", {"operators": [*rows, unlinked]}, device_self_us=1.0) == sentence
    assert answer("operators", {"operators": []}, device_self_us=None) is None
    of_kernels = [
        {key: row[key] for key in ("name", "calls", "total_pct", "short_name", "total_us")}
        for row in rows[:2]
    ]
    bounds = {"tensor_core_time_min_pct": 20.0, "tensor_core_time_max_pct": 50.0}
    assert answer("kernels", {"kernels": of_kernels}, **bounds) == (
        "op1 takes 40.0 % of the kernel time (400 µs in 1 call). "
        "Tensor Cores run 20.0 % to 50.0 % of the kernel time."
    )
    unknown = {"tensor_core_time_min_pct": 0.0, "tensor_core_time_max_pct": 100.0}
    assert "Tensor" not in str(answer("kernels", {"kernels": of_kernels}, **unknown))


def test_idle_time() -> None:
    causes = [
        {"gpu": 0, "cause": "launch_bound", "total_us": 30.0},
        {"gpu": 1, "cause": "launch_bound", "total_us": 30.0},
        {"gpu": 1, "cause": "data_loading", "total_us": 40.0},
    ]
    gaps = [{"duration_us": 310.0}, {"duration_us": 20.0}]
    two = {"idle_pct__GPU 0": 89.04, "idle_pct__GPU 1": 12.3}
    assert answer("idle", {"causes": causes, "gaps": gaps}, **two) == (
        "The 2 GPUs are idle 12.3 % to 89.0 % of the time, mostly because the host has not "
        "launched the next kernel yet; the longest gap is 310 µs."
    )
    busy = answer("idle", {"causes": [], "gaps": []}, **{"idle_pct__GPU 0": 0.0})
    assert busy == "The GPU is idle 0 % of the time."
    assert answer("idle", {"causes": [], "gaps": []}) is None


def test_memory() -> None:
    peaks: list[dict[str, Any]] = [
        {"device": "CPU", "peak_allocated_bytes": 2**40},
        {"device": "GPU 0", "peak_allocated_bytes": 61.2 * 2**30, "peak_us": 1.2e6,
         "device_memory_bytes": 79.2 * 2**30},
    ]  # fmt: skip
    peaks = [{key: int(v) if "bytes" in key else v for key, v in row.items()} for row in peaks]
    shares = [
        {"device": "GPU 0", "category": "activation", "share_pct": 48.0},
        {"device": "GPU 0", "category": "parameter", "share_pct": 30.0},
    ]
    tables = {"memory_peaks": peaks, "peak_categories": shares}
    assert answer("memory", tables, **{"growth_per_pass_bytes__GPU 0": 2.0**20}) == (
        "GPU 0 peaks at 61.2 GiB of 79.2 GiB, 1.20 s after the start; 48.0 % of it is activation "
        "memory (est.). It grows by 1.00 MiB with each step."
    )
    assert answer("memory", {"memory_peaks": peaks[:1]}) == "CPU peaks at 1.00 TiB."


def test_distributed() -> None:
    overlap = [
        {"step": "all", "worker": f"rank{rank}", "computation_us": 50.0, "overlap_us": 10.0,
         "communication_us": exposed, "other_us": 40.0 - exposed}
        for rank, exposed in enumerate((20.0, 5.0))
    ]  # fmt: skip
    late = [{"worker": "rank1", "collectives": 8, "arrived_last": 5, "delay_us": 1308.0}]
    assert answer("distributed", {"overlap": overlap, "stragglers": late}, worker_count=2) == (
        "Communication that nothing overlaps takes 5.0 % to 20.0 % of the step. rank1 arrives last "
        "in 5 of 8 collectives and holds the others up 1.31 ms in all (est.)."
    )
    alone = answer("distributed", {"overlap": [], "stragglers": late}, worker_count=1)
    assert alone == "Only one worker is loaded, so who is late is unknown."


def test_data_and_copies() -> None:
    waits: list[dict[str, Any]] = [
        {"step": "1", "wait_us": 60e3},
        {"step": "2", "wait_us": 80e3},
        {"step": "3"},
    ]
    stages: list[dict[str, Any]] = [{"stage": "fetch", "bottleneck": True}, {"stage": "pin"}]
    assert answer("data", {"waits": waits, "stages": stages}, wait_pct=39.64) == (
        "The host waits for data for 39.6 % of its time: 70.0 ms on average in 2 steps. "
        "A device may work meanwhile. The slowest stage of loading is fetch."
    )
    copies: list[dict[str, Any]] = [
        {"kind": "HtoD", "host_memory": "pinned", "calls": 2, "total_us": 30.0, "total_bytes": 2048}
    ]
    facts = {"copying_us__GPU 0": 30.0, "exposed_us__GPU 0": 15.0}
    assert answer("copies", {"copies_by_kind": copies}, **facts) == (
        "Copies take 30.0 µs of GPU time; in 50.0 % of that time no kernel runs. "
        "Most is HtoD (pinned memory): 2.00 KiB in 2 copies."
    )
    one = {"kind": "DtoD", "host_memory": None, "calls": 3, "total_us": 20.0, "total_bytes": 1024}
    two_gpus = [{**one, "gpu": 0}, *({**row, "gpu": 0} for row in copies), {**one, "gpu": 1}]
    assert answer("copies", {"copies_by_kind": two_gpus}, **facts) == (
        "Copies take 30.0 µs of GPU time; in 50.0 % of that time no kernel runs. "
        "Most is DtoD: 2.00 KiB in 6 copies."
    )


def test_steps_and_the_critical_path() -> None:
    kept = {"selected": True, "tensor_core_us": 0.0}
    iterations = [
        {**kept, "iteration": 5, "duration_us": 100.0, "other_kernels_us": 40.0, "cpu_us": 50.0},
        {**kept, "iteration": 6, "duration_us": 300.0, "other_kernels_us": 60.0, "cpu_us": 150.0},
        {"iteration": 7, "duration_us": 900.0, "selected": False},
    ]
    facts = {"iteration_mean_us": 200.0, "iteration_variation_pct": 50.0}
    assert answer("iterations", {"iterations": iterations}, **facts) == (
        "2 iterations take 200 µs ± 50.0 % on average; the slowest is 6 (300 µs). "
        "Kernels run in 25.0 % of the time; in 50.0 % only the host works."
    )
    mean = {"step": "mean", "total_us": 200.0, "interval_pct": 30.0, "forward_pct": 20.0,
            "backward_pct": 50.0, "tail_pct": 0.0}  # fmt: skip
    assert answer("phases", {"step_trace": [mean]}) == (
        "The mean step takes 200 µs: 50.0 % backward, 30.0 % before the forward pass, 20.0 % "
        "forward."
    )
    categories = [
        {"title": "Compute kernels", "path_us": 7.0, "pct": 70.0},
        {"title": "Python between operators", "path_us": 3.0, "pct": 30.0},
    ]
    what_if = [
        {"name": "Unknown", "halve_us": 9.0, "halve_pct": 90.0},
        {"name": "gemm", "halve_us": 2.0, "halve_pct": 20.0},
    ]
    assert answer("critical_path", {"categories": categories, "what_if": what_if}) == (
        "The critical path is mostly compute kernels (70.0 %) and Python between operators "
        "(30.0 %). With gemm twice as fast the step would be 20.0 % shorter (est.)."
    )


def test_what_a_step_waits_for_may_not_be_recorded() -> None:
    categories = [
        {"title": "Communication", "path_us": 6.0, "pct": 60.0},
        {"title": "Unknown", "path_us": 3.0, "pct": 30.0},
        {"title": "Copies and memsets", "path_us": 1.0, "pct": 10.0},
    ]
    assert answer("critical_path", {"categories": categories, "what_if": []}) == (
        "The critical path is mostly communication (60.0 %). For 30.0 % of it, the recording does "
        "not show what the step waits for."
    )


@pytest.mark.parametrize(
    ("input_shapes", "says"),
    [
        ("[[32, 64, 55, 55], [32, 3, 224, 224], [64], [], []]", "of 32×64×55×55 and 32×3×224×224"),
        ("[[], [512], [], [512]]", "of 512"),
        ("[[[4, 8], [4, 8]], [], [2, 2]]", "of 4×8 and 2×2"),
        ("[[], []]", "[[], []]"),
    ],
)
def test_shapes_are_spoken_as_sizes(input_shapes: str, says: str) -> None:
    rows = [{"name": "mm", "input_shapes": input_shapes, "slower": 2.0, "lost_us": 5.0}]
    facts = {"dynamic_operators": 0, "operator_count": 3}
    assert answer("shapes", {"shapes": rows}, **facts) == (
        f"No operator changes its input shapes. mm runs 2.0 times slower with inputs {says} than "
        "at its best shape: 5.00 µs lost (est.)."
    )


def test_counters_of_matrix_units_have_a_name_that_people_know() -> None:
    rows = [
        {"source": "AI Core", "metric": "aic_mac_ratio", "unit": "%", "mean": 6.7},
        {"source": "AI Core", "metric": "cube_utilization", "unit": "%", "mean": 10.2},
    ]
    assert answer("resources", {"summary": rows}) == (
        "On average: Cube units busy during their kernels 6.7 %."
    )


def test_sums_of_allocations_are_not_read_as_memory_in_use() -> None:
    rows = [
        {"device": "GPU 0", "name": "aten::empty", "self_allocation_bytes": 31 * 2**30,
         "self_allocation_count": 1204},
    ]  # fmt: skip
    assert answer("memory", {"memory_stats": rows, "memory_peaks": []}) == (
        "aten::empty allocates the most memory: 31.0 GiB on GPU 0 in 1,204 allocations, all "
        "summed. How much is in use at once is not recorded."
    )


def test_a_peak_of_which_nothing_is_known_is_its_size() -> None:
    peaks = [{"device": "GPU 0", "peak_allocated_bytes": 2**30}]
    parts = [{"device": "GPU 0", "category": "unknown", "share_pct": 100.0}]
    assert answer("memory", {"memory_peaks": peaks, "peak_categories": parts}) == (
        "GPU 0 peaks at 1.00 GiB."
    )


_NUMBER = re.compile(r"[<>]?\d[\d,.]* (?:%|ns|µs|ms|s|B|[KMGT]iB)(?![\w/])")
_SUMS = {"operators", "kernels", "iterations", "copies", "distributed", "data", "modules"}
"""Views whose sentences also have sums or means of several rows."""


def _shown(result: View) -> set[str]:
    """The values of tables and facts, each as a sentence may have it."""
    numbers: set[float] = set()
    for fact in result.facts:
        if isinstance(fact.value, int | float):
            numbers.add(float(fact.value))
    for table in result.tables.values():
        for column in table.spec.columns:
            if column.type in ("number", "integer"):
                numbers |= set(table.frame[column.key].drop_nulls().cast(pl.Float64).to_list())
    texts = (percent_text, duration_text, size_text)
    return {text(number) for number in numbers for text in texts} | {
        percent_text(100 - number) for number in numbers
    }


def _results(name: str) -> Iterator[tuple[ViewSpec, View]]:
    trace = opened(name)
    for spec in ANSWERING.values():
        if spec.missing(trace) is not None:
            continue
        if spec.scope == "trace":
            yield spec, trace_view(spec, trace, Selection())
        else:
            yield spec, run_view(spec, {"rank0": trace}, Selection())


@pytest.mark.parametrize("name", [each for each in FILES if "torch_versions" not in each])
def test_every_view_of_a_recording_answers_its_question(name: str) -> None:
    for spec, result in _results(name):
        text = result.answer
        assert text, spec.name
        assert len(text) <= MOST_CHARACTERS, (spec.name, text)
        assert text.endswith((".", "?")), text
        assert text.count(". ") <= 2, text
        assert not re.search(r"\bNone\b|\bnan\b|\binf\b|  |\n|\be[+-]\d", text), (spec.name, text)
        if spec.name not in _SUMS:
            shown = _shown(result)
            assert {number for number in _NUMBER.findall(text) if number not in shown} == set(), (
                spec.name,
                text,
            )


@pytest.mark.parametrize("name", ["h100_bert_small/rank0.pt.trace.json.gz"])
@pytest.mark.parametrize("part", [(0.0, 0.001), (0.3, 0.6), (2.0, 3.0)])
def test_a_part_of_a_recording_gives_answers_or_none(name: str, part: tuple[float, float]) -> None:
    trace = opened(name)
    length = trace.meta.end_ns - trace.meta.start_ns
    start, end = (int(length * each) for each in part)
    selection = Selection(start_ns=start, end_ns=end)
    for spec in ANSWERING.values():
        if spec.scope == "trace" and spec.missing(trace) is None:
            text = trace_view(spec, trace, selection).answer
            assert text is None or re.fullmatch(r"[^\n]+\.", text), (spec.name, text)


def test_names_of_a_trace_stay_on_one_line_and_short() -> None:
    row = {"name": "<img src=x>\n" * 30, "kind": "operator", "calls": 1, "total_pct": 100.0,
           "device_self_us": 1.0}  # fmt: skip
    text = answer("operators", {"operators": [row]}, device_self_us=1.0)
    assert text is not None
    assert "\n" not in text
    assert text.startswith("<img src=x> <img src=x>")
    assert len(text) < 120
