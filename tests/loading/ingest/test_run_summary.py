"""The summaries of many ranks stored together: every view is the same as from each of them, and an
entry that is not as it was written is none."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from polars.testing import assert_frame_equal

from tests.helpers.opening import open_file
from tests.helpers.traces import annotation
from tests.helpers.traces import trace as hand_built
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.knowledge.user_rules import NO_RULES
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.ingest import together
from torch_tb_profiler.loading.ingest.job import Job, ingest_file
from torch_tb_profiler.loading.ingest.run_summary import load_run, save_run
from torch_tb_profiler.loading.ingest.summaries import FRAMES, load_summary, save_summary
from torch_tb_profiler.loading.opening.open_file import OpenedFile
from torch_tb_profiler.loading.queries.views import run_view, view_spec
from torch_tb_profiler.loading.store import reading, run_loading
from torch_tb_profiler.loading.store.entries import Entry
from torch_tb_profiler.loading.store.entry_loading import Absent, Result, load_cached_summary
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.trace.cache import BrokenCacheError
from torch_tb_profiler.trace.model import Trace


@pytest.fixture(scope="module", name="summaries")
def summaries_of_a_run(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trace]:
    """Of eight ranks, and of one that holds a single call."""
    files = Catalog([TraceRoot(os.fspath(samples / "dlrm_8_ranks"))], cache=None).contents().files()
    traces = {file.worker: open_file(file.location, cache=None) for file in files}
    traces["alone"] = hand_built([annotation("nccl:all_reduce", 0, 5)])
    folder = tmp_path_factory.mktemp("summaries")
    small = {}
    for worker, trace in traces.items():
        own = folder / worker
        own.mkdir()
        save_summary(trace, own)
        small[worker] = load_summary(own)
    return small


@pytest.mark.parametrize("name", ["distributed", "ranks"])
@pytest.mark.parametrize("steps", [None, "10"])
def test_views_are_the_same(
    summaries: dict[str, Trace], tmp_path: Path, name: str, steps: str | None
) -> None:
    save_run(list(summaries.items()), tmp_path)
    loaded, size_bytes = load_run(tmp_path)
    assert [*loaded] == [*summaries]
    assert size_bytes > 0
    spec, selection = view_spec(name), Selection(steps=steps)
    one, other = run_view(spec, summaries, selection), run_view(spec, loaded, selection)
    assert (one.facts, one.notes, one.answer) == (other.facts, other.notes, other.answer)
    for table, whole in one.tables.items():
        assert_frame_equal(whole.frame, other.tables[table].frame, check_exact=True)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "version": lambda run: run.update(version=[0, 0]),
    "a rank less": lambda run: run["heads"].pop(),
    "other rows": lambda run: run["rows"]["steps"].append(3),
    "a table less": lambda run: run["rows"].pop("records"),
    "a key less": lambda run: run["keys"].pop(),
    "no map": lambda run: run.update(heads={}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_as_it_was_written(
    summaries: dict[str, Trace], tmp_path: Path, change: str
) -> None:
    save_run(list(summaries.items()), tmp_path)
    file = tmp_path / "run.msgpack"
    run = msgspec.msgpack.decode(file.read_bytes())
    CHANGES[change](run)
    file.write_bytes(msgspec.msgpack.encode(run))
    with pytest.raises(BrokenCacheError):
        load_run(tmp_path)


@pytest.mark.parametrize("name", [*FRAMES, "calls", "ranges", "busy", "work"])
def test_a_table_that_is_damaged(summaries: dict[str, Trace], tmp_path: Path, name: str) -> None:
    save_run(list(summaries.items()), tmp_path)
    file = tmp_path / f"{name}.arrow"
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(BrokenCacheError):
        load_run(tmp_path)


def test_a_new_server_reads_the_run_at_once(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an ingest; when one file is another, each is read by itself, and all together again by
    the server after that."""
    for module in (together, run_loading):
        monkeypatch.setattr(module, "FEWEST_RANKS", 4)
    logs = tmp_path / "logs"
    logs.mkdir()
    for sample in (samples / "dlrm_8_ranks").iterdir():
        (logs / sample.name).write_bytes(sample.read_bytes())
    cache = CacheFolder(tmp_path / "cache")
    root = TraceRoot(os.fspath(logs))
    files = Catalog([root], cache=None).contents().files()
    for file in files:
        assert ingest_file(Job(file.location, file.state, cache)).problem is None
    together.store_ingested_runs(files, cache, NO_RULES)
    single: list[Entry] = []
    stored = threading.Event()

    def load_one(cache: CacheFolder, entry: Entry) -> Result | Absent:
        single.append(entry)
        return load_cached_summary(cache, entry)

    def store_all(cache: CacheFolder, opened: Sequence[tuple[Entry, OpenedFile]]) -> None:
        run_loading.store_opened_run(cache, opened)
        stored.set()

    monkeypatch.setattr(reading, "load_cached_summary", load_one)
    monkeypatch.setattr(reading, "store_opened_run", store_all)

    def opened(*, stores: bool = False) -> int:
        """How many summaries a new server reads by themselves."""
        single.clear()
        store = TraceStore(cache=cache)
        found = Catalog([root], cache=cache, store=store).contents().files()
        gathered = store.gather([(file, "summary") for file in found], None)
        assert all(each.trace is not None for each in gathered)
        if stores:
            assert stored.wait(30)
        store.close()
        return len(single)

    assert opened() == 0
    changed = logs / files[0].location.name
    changed.write_bytes(changed.read_bytes())
    os.utime(changed, (1, 1))
    assert opened() == len(files)  # the changed one is parsed
    assert opened(stores=True) == len(files)
    assert opened() == 0
