"""The importer against a second reader, which uses Perfetto's own protobuf classes."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import sums as helper_sums
from tests.importers.pftrace.perfetto_gpu_writer import random_gpu_trace
from tests.importers.pftrace.perfetto_reader import (
    Slice,
    parse,
    parse_bytes,
    read_counters,
    read_slices,
)
from tests.importers.pftrace.perfetto_writer import random_trace
from tests.importers.pftrace.writer import read_data
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import EventColumns

CHROMIUM = Path(__file__).resolve().parents[2] / "data" / "pftrace" / "chromium.pftrace.gz"
SEEDS = st.integers(0, 2**32)
KERNEL = "kernel"
NO_BRACKETS = "torch2141_synthetic_gpu.pftrace.gz"
"""PyTorch 2.14 writes the ends of host slices in the order of their begins: Perfetto pairs them
otherwise. Their durations are those of the recording's JSON (``test_twins.py``)."""

NNT = "nvjet_sm100_tst_256x256_64x4_2x2_2cta_h_bz_NNT"


def imported_slices(columns: EventColumns) -> list[Slice]:
    """The slices of the importer, in the form of the second reader."""
    table = columns.tables["slices"]
    texts = [*columns.strings, ""]
    rows = [track.thread_name or "" for track in columns.tracks]
    columns_of_slice = ("track", "name_code", "raw_category_code", "start_ns", "dur_ns")
    return [
        Slice(rows[track], texts[name], texts[category], start_ns, dur_ns)
        for track, name, category, start_ns, dur_ns in zip(
            *(table[column].tolist() for column in columns_of_slice), strict=True
        )
    ]


def from_first(slices: list[Slice]) -> list[Slice]:
    """In order, with times since the first one."""
    first = min((each.start_ns for each in slices), default=0)
    return sorted(each._replace(start_ns=each.start_ns - first) for each in slices)


def sums(slices: list[Slice]) -> dict[tuple[str, str], tuple[int, int]]:
    """Number and total duration, by row and name."""
    durations = defaultdict(list)
    for each in slices:
        durations[each.row, each.name].append(each.dur_ns)
    return {key: (len(each), sum(each)) for key, each in durations.items()}


def without_category(slices: list[Slice]) -> list[Slice]:
    """For rows of GPUs, whose categories get Kineto's names."""
    return [each._replace(category="") for each in slices]


def test_slices_of_the_corpus_are_those_of_the_second_reader(corpus: Path) -> None:
    files = sorted((corpus / "pftrace").rglob("*.pftrace*"))
    assert len(files) >= 4
    for path in files:
        here = imported_slices(import_trace([path.read_bytes()], name=path.name))
        there = read_slices(parse(path))
        if path.name == NO_BRACKETS:
            here, there = ([s for s in each if s.category == KERNEL] for each in (here, there))
        here, there = without_category(here), without_category(there)
        assert sums(here) == sums(there), path
        assert from_first(here) == from_first(there), path


def test_counters_of_the_corpus_are_those_of_the_second_reader(corpus: Path) -> None:
    names: set[str] = set()
    for path in (corpus / "pftrace").rglob("*.pftrace*"):
        columns = import_trace([path.read_bytes()], name=path.name)
        table, there = columns.tables["counters"], defaultdict(list)
        here = defaultdict(list)
        for code, value in zip(table["name_code"].tolist(), table["value"].tolist(), strict=True):
            here[columns.strings[code]].append(value)
        for name, value in read_counters(parse(path)):
            there[name].append(value)
        assert here == there, path
        names |= here.keys()
    assert len(names) == 7


def test_chromiums_clocks_are_resolved() -> None:
    """Incremental clocks of its sequences, in us, which snapshots relate to the monotonic clock;
    only clocks, tracks and the first events of the file are left."""
    columns = import_trace([CHROMIUM.read_bytes()], name=CHROMIUM.name)
    here, there = imported_slices(columns), read_slices(parse(CHROMIUM))
    assert columns.quality.counts.keys() == {"unmatched_begin", "unmatched_end", "unknown_category"}
    assert len(here) - columns.quality.counts["unmatched_begin"] == len(there) == 2992
    assert Counter(from_first(there)) <= Counter(from_first(here))


def test_overlapping_kernels_of_a_stream_keep_their_own_times(corpus: Path) -> None:
    """The stream has two tracks: the next kernel starts before the last one has ended."""
    path = corpus / "pftrace" / "attention_gym" / "hello_world_training_loop_monitor.pftrace"
    columns = import_trace([path.read_bytes()], name=path.name)
    kernels = [each for each in imported_slices(columns) if each.category == KERNEL]
    assert {each.row for each in kernels} == {"stream 7"}
    assert sums(kernels)["stream 7", NNT] == (3, 725_506)
    trace = build_trace(columns)
    assert trace.quality.counts["overlapping_slices"] == 68
    work = trace.device_work.filter(trace.device_work["category"] == Category.KERNEL)
    assert (work.height, work["dur_ns"].sum()) == (195, 5_581_432)


@given(SEEDS, st.sampled_from([1, 300, 1 << 20]))
def test_random_files_have_the_slices_that_were_written(seed: int, piece_bytes: int) -> None:
    data, slices = random_trace(seed)
    assert from_first(read_slices(parse_bytes(data))) == from_first(slices)
    columns = read_data(data, piece_bytes)
    assert from_first(imported_slices(columns)) == from_first(slices)
    assert columns.quality.counts == {}


@given(SEEDS, st.sampled_from([1, 300, 1 << 20]))
def test_random_work_and_counters_of_gpus(seed: int, piece_bytes: int) -> None:
    data, work, counters = random_gpu_trace(seed)
    trace = build_trace(read_data(data, piece_bytes))
    assert helper_sums.differences(helper_sums.work(trace), work) == {}
    rows = trace.counters.select("name_code", "value").iter_rows()
    here = helper_sums.add_up(((trace.text(code),), value) for code, value in rows)
    assert helper_sums.differences(here, counters) == {}
