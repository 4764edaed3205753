"""A journal read by the importer against a reading line by line, and what damage does to it."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.recorder import START_NS, Run, blocks_of, journal_columns, steps_of, text_of
from torch_tb_profiler.budget import LIMITS_VARIABLE
from torch_tb_profiler.importers.errors import TraceFormatError
from torch_tb_profiler.importers.recorder.journal import ProfilerWindow
from torch_tb_profiler.importers.recorder.side_tables import overlaps_any
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns
from torch_tb_profiler.trace.side_tables import SIDE_SCHEMAS

SIDE_OF = {"steps": "timed_steps", "batches": "loader_batches", "work": "loader_work"}
MAIN_COLUMN = {"steps": "step", "batches": "batch", "work": "batch"}


def side(columns: EventColumns, name: str) -> pl.DataFrame:
    return next(table.frame for table in columns.side if table.name == name)


def slices(columns: EventColumns, category: Category) -> list[tuple[str, int, int]]:
    """Name, start since 1970 and length of the slices of a category, by start."""
    table = columns.tables["slices"]
    rows = np.flatnonzero(table["category"] == category)
    return sorted(
        (
            columns.strings[table["name_code"][row]],
            int(table["start_ns"][row]) + columns.base_ns,
            int(table["dur_ns"][row]),
        )
        for row in rows.tolist()
    )


def rows_of(blocks: list[dict[str, Any]], kind: str, base_ns: int) -> Counter[str]:
    """The rows of a side table as one reads them in the blocks, one after the other."""
    schema = SIDE_SCHEMAS[SIDE_OF[kind]]
    rows: set[str] = set()
    for block in blocks:
        if block["kind"] != kind:
            continue
        for position in range(len(block["start_ns"])):
            row = {
                key: value[position] if isinstance(value, list) else value
                for key, value in block.items()
            }
            if kind == "steps":
                row["duration_ns"] = row["end_ns"] - row["start_ns"]
            row["start_ns"] -= base_ns
            shown = {}
            for name in schema:
                if name in row:
                    shown[name] = row[name]
                elif name.endswith("_us"):
                    shown[name] = row[f"{name[:-3]}_ns"]
            rows.add(json.dumps(shown))
    return Counter(rows)


def in_ns(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a side table with whole nanoseconds, as the blocks have them."""
    return {
        name: round(value * 1000) if name.endswith("_us") and value is not None else value
        for name, value in row.items()
    }


RUNS = st.builds(
    Run,
    steps=st.integers(1, 30),
    step_ms=st.floats(0.5, 50),
    wait_ms=st.floats(0, 0.5),
    evaluate_every=st.integers(0, 4),
    workers=st.integers(0, 3),
    pin_ms=st.none() | st.floats(0, 1),
    rows_per_block=st.integers(1, 9),
    gpus=st.integers(0, 2),
    sample_every_ms=st.sampled_from([0, 7, 100]),
)


@given(RUNS, st.randoms(use_true_random=False))
def test_tables_are_those_of_the_blocks_in_any_order_and_however_often(
    run: Run, random: Any
) -> None:
    blocks = blocks_of(run)
    repeated = [*blocks, *random.choices(blocks, k=3)]
    random.shuffle(repeated)
    columns = journal_columns(repeated)
    for kind, name in SIDE_OF.items():
        frame = side(columns, name).drop("is_warmup", "is_traced", strict=False)
        rows = Counter(json.dumps(in_ns(row)) for row in frame.rows(named=True))
        assert rows == rows_of(blocks, kind, columns.base_ns)
        assert frame["start_us"].is_sorted()
    expected = {
        (block["source"], metric, time, value)
        for block in blocks
        if block["kind"] == "samples"
        for metric, metric_block in block["metrics"].items()
        for time, value in zip(block["time_ns"], metric_block["values"], strict=True)
    }
    samples = columns.tables["samples"]
    texts = [columns.strings[code] for code in samples["metric_code"]]
    sources = [columns.strings[code] for code in samples["source_code"]]
    times = (samples["time_ns"] + columns.base_ns).tolist()
    read = list(zip(sources, texts, times, samples["value"].tolist(), strict=True))
    assert set(read) == expected
    assert len(read) == len(expected)
    assert set(columns.quality.counts) <= {"journal_repeated"}


def test_steps_waits_and_stages_are_slices() -> None:
    run = Run(steps=4, workers=2, evaluate_every=2, evaluation_steps=1, fetch_ms=1, transform_ms=2)
    columns = journal_columns(run)
    steps = steps_of(run)
    train = [each for each in steps if each.phase == "train"]
    assert slices(columns, Category.STEP) == [
        (f"ProfilerStep#{each.number}", each.start_ns, 10_000_000) for each in train
    ]
    assert slices(columns, Category.ANNOTATION) == [
        (f"Evaluation#{each.number}", each.start_ns, 10_000_000)
        for each in steps
        if each.phase == "evaluation"
    ]
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    assert slices(columns, Category.DATALOADER) == [
        (name, each.start_ns, 2_000_000) for each in steps
    ]
    stages = slices(columns, Category.HOST_OTHER)
    begin = steps[0].start_ns + 2_000_000 - 3_500_000
    assert [each for each in stages if each[1] < begin + 3_500_000][:1] == [
        ("collate", begin + 3_000_000, 500_000)
    ]
    assert ("fetch", begin, 1_000_000) in stages
    assert ("transform", begin + 1_000_000, 2_000_000) in stages
    assert [track.pid for track in columns.tracks] == [
        "4000",
        "loader 0 worker 0",
        "loader 0 worker 1",
    ]
    assert build_trace(columns).steps["name"].to_list() == ["0", "1", "2", "3"]


def test_without_workers_stages_lie_in_the_wait_of_the_program() -> None:
    columns = journal_columns(Run(steps=3, workers=0, wait_ms=5))
    assert [track.pid for track in columns.tracks] == ["4000"]
    waits = slices(columns, Category.DATALOADER)
    assert {name for name, _, _ in waits} == {
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    }
    for _, start, length in slices(columns, Category.HOST_OTHER):
        assert any(at <= start and start + length <= at + wait for _, at, wait in waits)


def test_steps_that_overlap_a_window_are_traced_and_the_first_are_warm_up() -> None:
    run = Run(steps=12, windows=((3, 5), (9, 9)), warmup_steps=2, evaluate_every=4)
    steps = side(journal_columns(run), "timed_steps")
    train = steps.filter(phase="train")
    overlaps_any = train.filter("is_traced")["step"].to_list()
    assert overlaps_any == [3, 4, 5, 9]
    assert steps.filter("is_traced", phase="evaluation")["step"].to_list() == [0, 1, 2]
    assert train.filter("is_warmup")["step"].to_list() == [0, 1]


def test_a_window_without_an_end_lasts_on_and_without_a_timer_no_step_is_warm_up() -> None:
    blocks = [each for each in blocks_of(Run(steps=5)) if each["kind"] != "timer"]
    start_ns = steps_of(Run(steps=5))[3].start_ns
    window = {"kind": "window", "state": "recording", "trace": "a", "start_ns": start_ns}
    steps = side(journal_columns([*blocks, window]), "timed_steps")
    assert steps["is_traced"].to_list() == [False] * 3 + [True] * 2
    assert steps["is_warmup"].null_count() == 5


def test_reasons_come_from_the_recorder_or_point_to_the_windows() -> None:
    run = Run(windows=((1, 2),), missing=(("gpu_samples", "No GPU."), ("unheard of", "x")))
    reasons = {each.capability: each.reason for each in journal_columns(run).info.not_recorded}
    assert reasons["gpu_samples"] == "No GPU."
    assert "the other spans" in reasons["operators"]
    timed = Run(missing=(("operators", "Only times were asked for."),))
    reasons = {each.capability: each.reason for each in journal_columns(timed).info.not_recorded}
    assert reasons["operators"] == "Only times were asked for."
    assert "no window" in reasons["memory"]


def test_host_and_recorder_are_known() -> None:
    info = journal_columns(Run(rank=3, world_size=8, host="n1")).info
    assert (info.recorder, info.recorder_version) == ("torch-tb-profiler record", "1.0.0")
    assert info.host_name == "n1"
    assert info.job is not None
    assert (info.job.rank, info.job.world_size) == (3, 8)
    assert journal_columns(Run(rank=None, world_size=None)).info.job is None


DAMAGES: dict[str, tuple[bytes, dict[str, int]]] = {
    "no object": (b"[1]\n", {"journal_line": 1}),
    "half a line": (b'{"kind":"st\n', {"journal_line": 1}),
    "NUL bytes": (b"\0" * 4096 + b"\n", {"journal_line": 1}),
    "another kind": (b'{"kind":"later"}\n', {"journal_unknown": 1}),
    "no kind": (b"{}\n", {"journal_unknown": 1}),
    "a kind that is none": (b'{"kind":["steps"]}\n', {"journal_unknown": 1}),
    "no UTF-8": (b'{"kind":"missing","what":"\xff"}\n', {"journal_line": 1}),
    "deep": (b'{"kind":' + b"[" * 5000 + b"\n", {"journal_line": 1}),
    "rows that are none": (b'{"kind":"steps","start_ns":7}\n', {"journal_value": 1}),
    "another phase": (
        b'{"kind":"steps","phase":"x","by":"loader","start_ns":[1,2],"end_ns":[1,2]}\n',
        {"side_row_left_out": 2},
    ),
    "times beyond sense": (
        b'{"kind":"work","loader":0,"worker":null,"start_ns":[5,9999999999999999999999,"x",true]}\n',
        {"journal_value": 4, "side_row_left_out": 4},
    ),
    "a step that ends before it begins": (
        b'{"kind":"steps","phase":"train","by":"loader","step":[9],"start_ns":[%d],"end_ns":[%d]}\n'
        % (START_NS, START_NS - 1),
        {"side_row_left_out": 1},
    ),
    "samples that are none": (
        b'{"kind":"samples","source":"host","time_ns":[%d,%d,7],"metrics":{"a":{"values":'
        b'[1e3,"2",3]},"b":4}}\n' % (START_NS, START_NS + 1),
        {"journal_value": 3, "side_row_left_out": 1},
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_counted_and_the_rest_is_read(damage: str) -> None:
    text, counts = DAMAGES[damage]
    whole = text_of(blocks_of(Run())).split(b"\n", 1)
    columns = journal_columns(whole[0] + b"\n" + text + whole[1])
    assert columns.quality.counts == counts
    for name in SIDE_OF.values():
        assert side(columns, name).equals(side(journal_columns(Run()), name))


def test_a_block_after_half_a_line_is_read() -> None:
    first, rest = text_of(blocks_of(Run())).split(b"\n", 1)
    columns = journal_columns(first + b'\n{"kind":"work","loader":0,"sta' + rest)
    assert columns.quality.counts == {"journal_line": 1}
    assert columns.info.host_name == "node1"


def test_a_journal_cut_anywhere_opens_with_what_stands_before_the_cut() -> None:
    text = text_of(blocks_of(Run(steps=6)))
    for end in range(text.index(b"\n"), len(text), 331):
        columns = journal_columns(text[:end])
        is_cut = text[end - 1 : end] != b"\n" and text[end : end + 1] != b"\n"
        assert columns.quality.counts.get("truncated", 0) == is_cut
        build_trace(columns)


def test_a_journal_without_header_or_end_says_so() -> None:
    blocks = [each for each in blocks_of(Run()) if each["kind"] not in ("header", "end")]
    columns = journal_columns(blocks)
    assert columns.quality.counts == {"journal_no_header": 1, "journal_no_end": 1}
    assert columns.tracks[0].pid == ""


@pytest.mark.parametrize("text", [b"\n", b"\0\0\n", b'{"kind":"unheard"}\n', b"no journal\n"])
def test_a_file_without_blocks_is_not_a_trace(text: bytes) -> None:
    with pytest.raises(TraceFormatError):
        journal_columns(text)


TIMES = st.integers(START_NS, START_NS + 30)


@given(
    st.lists(st.tuples(TIMES, TIMES).map(sorted), max_size=8),
    st.lists(st.tuples(TIMES, TIMES | st.none()), max_size=6),
)
def test_a_step_is_traced_if_any_window_overlaps_it(
    steps: list[list[int]], windows: list[tuple[int, int | None]]
) -> None:
    known_windows = [ProfilerWindow("written", start, end) for start, end in windows]
    starts, ends = np.array(steps, np.int64).reshape(-1, 2).T
    expected = [
        any(end > begin and (until is None or start < until) for begin, until in windows)
        for start, end in steps
    ]
    assert overlaps_any(starts, ends, known_windows).tolist() == expected


def test_loaders_with_the_fewest_batches_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {7: 3, 1: 1, 4: 5, 2: 1, 9: 2}
    batches = [
        {
            "kind": "batches", "phase": "train", "loader": loader, "batch": list(range(size)),
            "start_ns": [START_NS + loader * 100 + at for at in range(size)], "wait_ns": [1] * size,
        }
        for loader, size in sizes.items()
    ]  # fmt: skip
    work = [
        {**block, "kind": "work", "worker": 0, "fetch_ns": block["wait_ns"]} for block in batches
    ]
    known = [{"kind": "loader", "loader": loader, "workers": 1} for loader in (1, 4, 5)]
    monkeypatch.setenv(LIMITS_VARIABLE, "loaders=3")
    columns = journal_columns([*known, *batches, *work])
    for name in ("loader_batches", "loader_work"):
        assert Counter(side(columns, name)["loader"].to_list()) == {4: 5, 7: 3, 9: 2}
    assert side(columns, "loaders")["loader"].to_list() == [4]
    assert columns.quality.counts["loaders_left_out"] == 3
    assert "loaders=NUMBER" in columns.quality.examples["loaders_left_out"][0]


def test_long_lists_of_a_journal_end_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [START_NS, START_NS + 1]
    metrics = {f"m{n}": {"unit": "", "values": [n, n]} for n in range(5)}
    blocks: list[dict[str, Any]] = [
        {"kind": "samples", "source": "s", "time_ns": at, "metrics": metrics},
        *({"kind": "missing", "what": f"w{n}", "reason": "r"} for n in range(4)),
        *({"kind": "window", "trace": f"t{n % 3}", "state": "lost"} for n in range(6)),
        *({"kind": "profiler", "start_ns": START_NS + n} for n in range(7)),
    ]
    monkeypatch.setenv(LIMITS_VARIABLE, "series=2,reasons=3,windows=2")
    columns = journal_columns(blocks)
    counts = columns.quality.counts
    assert counts["entries_left_out"] == (4 - 3) + 2 * (3 - 2) + (7 - 2)
    assert counts["side_row_left_out"] == 2 * (5 - 2), "samples of further series"
    assert "series=NUMBER" in columns.quality.examples["side_row_left_out"][0]
    assert len(columns.tables["samples"]["value"]) == 2 * 2


def test_samples_beyond_the_limit_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = {"m": {"unit": "", "values": list(range(8))}}
    times = [START_NS + n for n in range(8)]
    block = {"kind": "samples", "source": "s", "time_ns": times, "metrics": metrics}
    monkeypatch.setenv(LIMITS_VARIABLE, "samples=4")
    columns = journal_columns([block])
    assert columns.tables["samples"]["value"].tolist() == [0.5, 2.5, 4.5, 6.5]
    assert columns.quality.counts["samples_thinned"] == 4
    assert "samples=NUMBER" in columns.quality.examples["samples_thinned"][0]
