"""Real traces: every row of every table equals a reading with the standard library."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.importers.kineto.reference import (
    actual,
    chunks_of,
    document,
    expected,
    read_bytes,
    read_file,
)
from torch_tb_profiler.importers import Reading, TraceFormatError, import_trace
from torch_tb_profiler.importers.kineto.reader import read_text
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, TABLE_COLUMNS

DATA = Path(__file__).resolve().parents[2] / "data"
SAMPLES = Path(__file__).resolve().parents[3] / "samples"
VERSIONS = sorted((DATA / "torch_versions").glob("*/*.json.gz"))
LARGE_BYTES = 500_000
RECORDED = sorted(SAMPLES.glob("*/*.json.gz"))


@pytest.mark.parametrize("path", VERSIONS + RECORDED, ids=lambda path: path.parent.name)
def test_every_row_equals_the_reference(path: Path) -> None:
    columns = read_file(path)

    wanted, rows_read = expected(document(path)), actual(columns)

    for name, rows in wanted.items():
        assert rows_read[name] == rows, name
    assert columns.quality.counts == {}


def test_every_row_of_the_corpus_equals_the_reference(corpus: Path) -> None:
    """Of recordings that are no samples; large ones are compared by their sums."""
    names = ("*/*.pt.*", "*/c_ddp2_gloo_et/*.pt.*", "inference/*.json.gz")
    skipped = {path.name for path in RECORDED}
    paths = {path for name in names for path in corpus.glob(name) if path.name not in skipped}
    recordings = [path for path in sorted(paths) if path.stat().st_size < LARGE_BYTES]
    assert len(recordings) == 10
    for path in recordings:
        wanted, rows_read = expected(document(path)), actual(read_file(path))
        for name, rows in wanted.items():
            assert rows_read[name] == rows, (path, name)


def test_there_are_fourteen_torch_versions() -> None:
    assert len(VERSIONS) == 14


def test_columns_have_the_declared_types() -> None:
    columns = read_file(RECORDED[0])

    for table, declared in TABLE_COLUMNS.items():
        assert {name: values.dtype for name, values in columns.tables[table].items()} == dict(
            declared.items()
        ), table
        assert len({values.size for values in columns.tables[table].values()}) == 1


def test_sums_of_durations_of_the_golden_sample(samples: Path) -> None:
    path = samples / "kineto_resnet50_nw0" / "worker0.1623143089861.pt.trace.json.gz"
    columns = read_file(path)
    events = document(path)["traceEvents"]

    slices = columns.tables["slices"]

    assert slices["start_ns"].size == sum(event["ph"] == "X" for event in events) == 44666
    kernels = slices["category"] == Category.KERNEL
    assert slices["dur_ns"][kernels].sum() == 1000 * sum(
        event["dur"] for event in events if event.get("cat") == "Kernel"
    )
    assert columns.time_unit_ns == 1000
    assert len(columns.info.devices) == 4


def test_pieces_of_any_size_give_the_same(samples: Path) -> None:
    path = samples / "h100_bert_small" / "rank0.pt.trace.json.gz"
    text = gzip.decompress(path.read_bytes())
    whole = actual(read_bytes(text))

    for piece_bytes, chunk_bytes in ((1, 4096), (5_000, 333), (100_000, 65_536)):
        columns = read_text(chunks_of(text, chunk_bytes), name="x", piece_bytes=piece_bytes)
        assert actual(columns) == whole


def test_a_consumer_that_stops_leaves_nothing_open() -> None:
    def broken() -> Any:
        yield b'{"traceEvents": [{"ph": "X"'
        raise OSError("the network is gone")

    with pytest.raises(OSError, match="network"):
        import_trace(broken(), name="x")


def test_progress_counts_the_bytes_of_the_file() -> None:
    events = [{"ph": "X", "name": "a" * 50, "ts": i, "dur": 1} for i in range(1000)]
    data = json.dumps({"traceEvents": events}).encode()
    seen: list[int] = []

    import_trace(chunks_of(data, 1000), name="x", reading=Reading(progress=seen.append))

    assert seen == sorted(seen)
    assert seen[-1] == len(data)


def test_only_used_tracks_are_read_with_their_names() -> None:
    columns = read_file(next(p for p in VERSIONS if p.parent.name == "2.14.1"))

    named = [track for track in columns.tracks if track.thread_name is not None]

    assert [track.process_name for track in named] == ["python"] * len(named)
    assert named[0].process_label == "CPU"
    assert named[0].thread_name == "thread 22666 (python)"
    assert named[0].process_sort_index == 22666
    used = {int(track) for t in columns.tables.values() for track in t.get("track", [])}
    assert used == set(range(len(columns.tracks)))


def test_base_of_files_with_and_without_one() -> None:
    new, old = (
        read_file(next(p for p in VERSIONS if p.parent.name == version))
        for version in ("2.14.1", "2.3.1")
    )

    assert new.base_ns == 1790857026000000000
    assert new.time_unit_ns == 1
    assert old.time_unit_ns == 1000
    assert old.base_ns % 10**9 == 0
    assert 0 <= old.tables["slices"]["start_ns"].min() < 10**9


def test_a_base_after_the_events_counts() -> None:
    data = b'{"traceEvents":[{"ph":"X","name":"a","ts":1.5,"dur":2}],"baseTimeNanoseconds":7000}'

    columns = read_bytes(data)

    assert columns.base_ns == 7000
    assert columns.tables["slices"]["start_ns"].tolist() == [1500]


def test_collective_metadata_of_host_and_device() -> None:
    args = {
        "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1024,
        "Out msg nelems": 1024, "Group size": 8, "Process Group Name": "0",
        "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1, 2, ...]",
        "Seq": 5, "Comms Id": 2**64 - 3, "Is asynchronized op": True,
        "In split size": "[512, 512]", "Out split size": "[]",
    }  # fmt: skip
    host = {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 2}
    kernel = {"ph": "X", "cat": "kernel", "name": "ncclKernel", "ts": 3, "dur": 4}
    plain = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 9, "dur": 1}
    events = [plain, host | {"args": args}, kernel | {"args": {"device": 0} | args}, plain]

    columns = read_bytes(json.dumps({"traceEvents": events}).encode())
    table = columns.tables["collective"]

    assert table["slice"].tolist() == [1, 2]
    assert table["in_nelems"].tolist() == [1024, 1024]
    assert table["sequence"].tolist() == [5, 5]
    splits = [columns.strings[code] for code in table["in_splits_code"]]
    assert splits == ["[512, 512]"] * 2
    assert table["comms_id"].tolist() == [-3, -3], "64 bits without a sign"
    assert table["src_rank"].tolist() == [ABSENT, ABSENT]
    assert table["is_async"].tolist() == [1, 1]
    texts = [columns.strings[code] for code in table["group_ranks_code"]]
    assert texts == ["[0, 1, 2, ...]"] * 2


def test_counters_memory_and_out_of_memory() -> None:
    counter = {"ph": "C", "name": "GPU Utilization", "pid": 0, "ts": 5, "args": {"a": 1, "b": 2.5}}
    memory = {"Device Type": 1, "Device Id": 0, "Bytes": -8, "Addr": 2**64 - 1}
    events = [
        counter,
        {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 6, "args": memory},
        {"ph": "X", "cat": "cpu_instant_event", "name": "[memory]", "ts": 7, "dur": 0, "args": {}},
        {"ph": "i", "name": "[OutOfMemory]", "pid": 1, "tid": 1, "ts": 8, "args": {"Bytes": 9}},
    ]

    columns = read_bytes(json.dumps({"traceEvents": events}).encode())
    table, counters = columns.tables["memory"], columns.tables["counters"]

    assert counters["value"].tolist() == [1, 2.5]
    assert [columns.strings[code] for code in counters["series_code"]] == ["a", "b"]
    assert table["bytes"].tolist() == [-8, ABSENT, 9]
    assert table["address"].tolist() == [-1, ABSENT, ABSENT]
    assert table["is_oom"].tolist() == [0, 0, 1]
    assert columns.tables["slices"]["start_ns"].size == 0


def test_a_json_list_of_other_things_is_not_a_trace() -> None:
    with pytest.raises(TraceFormatError) as error:
        read_bytes(b'[{"loss": 0.5}, {"loss": 0.4}]')

    assert error.value.code == "not_a_trace"
