"""Sums of journals against a second reader: ``json``."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import sums
from tests.helpers.recorder import Run, blocks_of, journal_columns, text_of
from tests.importers.recorder import journal_sums
from torch_tb_profiler.trace.build import build_trace
from torch_tb_profiler.trace.model import Trace

RECORDED = Path(__file__).parents[2] / "data" / "recorded_run"


def steps(trace: Trace) -> sums.Sums:
    rows = trace.side["timed_steps"].frame.with_columns(
        reader_ns=(pl.col("reader_us").fill_null(0) * 1000).round().cast(pl.Int64),
        samples=pl.col("samples").fill_null(0),
    )
    return sums.add_up(
        ((row["phase"], what), row[what])
        for row in rows.iter_rows(named=True)
        for what in ("reader_ns", "samples")
    )


def assert_same_sums(text: bytes) -> None:
    trace, blocks = build_trace(journal_columns(text)), journal_sums.read(text)
    slices = {(tid, name): each for (_, tid, name), each in sums.slices(trace).items()}
    assert sums.differences(slices, journal_sums.slices(blocks)) == {}
    known = trace.samples.filter(pl.col("value").is_not_nan())
    assert sums.differences(sums.samples(trace, known), journal_sums.samples(blocks)) == {}
    assert sums.differences(steps(trace), journal_sums.steps(blocks)) == {}


def test_a_recorded_journal() -> None:
    (path,) = RECORDED.glob("*.record.jsonl.gz")
    assert_same_sums(gzip.decompress(path.read_bytes()))


RUNS = st.builds(
    Run,
    steps=st.integers(1, 40),
    step_ms=st.floats(0.5, 50),
    wait_ms=st.floats(0, 0.4),
    evaluate_every=st.integers(0, 7),
    workers=st.integers(0, 3),
    batch_size=st.integers(1, 99),
    fetch_ms=st.floats(0, 1),
    collate_ms=st.just(0.0) | st.floats(0, 1),
    sample_every_ms=st.floats(1, 200),
    gpus=st.integers(0, 2),
    windows=st.sampled_from([(), ((0, 0),)]),
    rows_per_block=st.integers(1, 9),
)


@given(RUNS, st.integers(0, 2**16))
def test_random_journals(run: Run, seed: int) -> None:
    """In any order, some lines twice, as a process leaves them that was killed and went on."""
    head, *rest = text_of(blocks_of(run)).splitlines()
    chance = Random(seed)
    lines = [*rest, *(line for line in rest if chance.random() < 0.1)]
    chance.shuffle(lines)
    assert_same_sums(b"\n".join([head, *lines, b""]))
