"""Sums of torch_npu's folders against second readers: ``json``, ``csv`` and ``sqlite3``."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import sums
from tests.helpers.ascend import MAIN, QUEUE, Run, read_folder, write_database, write_text
from tests.importers.ascend.folder_sums import Database, TextFiles
from tests.importers.kineto import json_sums
from torch_tb_profiler.importers import import_trace
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

TOTAL = re.compile(r"(?!module ).* (allocated|reserved|active)")
"""Metric of a total of a component."""


def kernels(trace: Trace) -> sums.Sums:
    return {
        (device, None if name.startswith("hcom_") else stream, name): each
        for (device, stream, kind, name), each in sums.work(trace).items()
        if kind == "KERNEL"
    }


def records(trace: Trace) -> sums.Sums:
    found = sums.samples(trace)
    return {(metric,): each for (_, metric), each in found.items() if TOTAL.fullmatch(metric)}


def assert_text_sums(folder: Path) -> Trace:
    trace, recorded = build_trace(read_folder(folder)), TextFiles(folder)
    assert sums.differences(sums.slices(trace), recorded.slices()) == {}
    assert sums.differences(sums.memory(trace), recorded.memory()) == {}
    table, here = recorded.kernels(), kernels(trace)
    if not any(stream is None for _, stream, _ in table):  # older tables have no collectives
        here = {key: each for key, each in here.items() if key[1] is not None}
    assert here.keys() == table.keys()
    for key, (count, total_ns) in here.items():
        assert count == table[key][0]
        assert abs(total_ns - table[key][1]) <= count, "the table is rounded apart from the times"
    return trace


def assert_database_sums(folder: Path) -> Trace:
    trace, recorded = build_trace(read_folder(folder)), Database(folder)
    on_host = trace.tracks.filter(~pl.col("is_device"))["track"].to_list()
    host = sums.slices(trace, pl.col("track").is_in(on_host))
    assert sums.differences(host, recorded.host()) == {}
    assert sums.differences(kernels(trace), recorded.kernels()) == {}
    assert sums.differences(sums.memory(trace), recorded.memory()) == {}
    return trace


def test_every_folder_of_the_corpus(corpus: Path) -> None:
    root = corpus / "ascend_torch_npu"
    for rank in (0, 1):
        folder = root / "text" / "level1" / f"rank{rank}_ascend_pt"
        trace = assert_text_sums(folder)
        assert sums.differences(records(trace), TextFiles(folder).records()) == {}
        assert {device for device, *_ in sums.work(trace)} == {rank}
    folder = root / "db" / "level1" / "rank0_ascend_pt"
    trace = assert_database_sums(folder)
    assert sums.differences(records(trace), Database(folder).records()) == {}


def test_every_timeline_of_msprof(corpus: Path) -> None:
    files = sorted((corpus / "ascend_mindspore").glob("*.json"))
    assert len(files) == 4
    for path in files:
        data = path.read_bytes()
        trace = build_trace(import_trace([data], name=path.name))
        events = json_sums.events_of(json_sums.parse(data))
        assert sums.differences(sums.slices(trace), json_sums.slices(events)) == {}, path


def random_run(seed: int) -> Run:
    """Anything at any time, on a few threads and streams."""
    chance = Random(seed)

    def times(longest: int = 10**6) -> tuple[int, int]:
        start = chance.randrange(10**7)
        return start, start + chance.choice((0, 1, chance.randrange(longest)))

    def several(most: int = 12) -> range:
        return range(chance.randrange(1, most))

    thread, connection = partial(chance.choice, (MAIN, QUEUE)), partial(chance.randrange, 5)
    names = ("aten::mm", "aten::copy_", "ProfilerStep#3", 'Größe, "x"')
    return Run(
        host=[("op", chance.choice(names), thread(), *times(), (connection(),)) for _ in several()]
        + [("frame", "a.py(3): f", MAIN, *times(), None)],
        calls=[
            (chance.choice(("node", "acl")), "launch", thread(), *times(), connection())
            for _ in several()
        ],
        kernels=[
            (chance.choice(("mm_MatMul", "k_Add")), "MatMulV2", "AI_CORE", chance.randrange(2, 4),
             task, *times(), connection(), 8)
            for task in several()
        ],
        copies=[(2, 100 + task, *times(), connection()) for task in several(3)],
        collectives=[
            (f"hcom_allReduce__1_{number}_1", *times(), connection(), 4) for number in several(4)
        ],
        blocks=[
            (chance.choice(names[:2]), chance.randrange(1, 999) / 2, start,
             chance.choice((end, None)), 8192, 16384)
            for start, end in (times() for _ in several())
        ],
    )  # fmt: skip


@given(st.integers(0, 2**32))
def test_random_folders(seed: int) -> None:
    run = random_run(seed)
    with TemporaryDirectory() as folder:
        assert_text_sums(write_text(Path(folder) / "text_ascend_pt", run))
        assert_database_sums(write_database(Path(folder) / "database_ascend_pt", run))
