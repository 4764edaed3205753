"""Cases: runs by name, first ones for missing names, suggestions; files that appear, change and
disappear; several roots; no trace at all; a logdir that does not exist yet; cost of idling."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.discovered import discover
from torch_tb_profiler.loading import catalog as catalog_module
from torch_tb_profiler.loading import roots
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.requests.errors import OpenError, UnknownError
from torch_tb_profiler.storage.discovery import Discovery, DiscoveryOptions
from torch_tb_profiler.storage.locations import Location

Writer = Callable[..., Path]


def make_catalog(*places: Path, rescan_s: float = 0.0) -> Catalog:
    return Catalog([TraceRoot(str(place)) for place in places], cache=None, rescan_s=rescan_s)


def names(catalog: Catalog) -> list[tuple[str, str, str]]:
    return [(run, worker, status.name) for run, worker, status in catalog.statuses()]


@pytest.fixture
def logdir(tmp_path: Path, write_trace: Writer) -> Path:
    for name in (
        "exp1/rank0.100.pt.trace.json",
        "exp1/rank0.200.pt.trace.json",
        "exp1/rank10.101.pt.trace.json",
        "exp1/rank2.101.pt.trace.json",
        "exp2/solo.pt.trace.json",
    ):
        write_trace(tmp_path / name)
    return tmp_path


def test_everything_is_listed_in_the_order_of_numbers(logdir: Path) -> None:
    catalog = make_catalog(logdir)
    catalog.contents()
    assert names(catalog) == [
        ("exp1", "rank0", "1"),
        ("exp1", "rank0", "2"),
        ("exp1", "rank2", "1"),
        ("exp1", "rank10", "1"),
        ("exp2", "solo", "default"),
    ]
    assert {status.state for _, _, status in catalog.statuses()} == {"queued"}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ((None, None, None), ("exp1", "rank0", "1")),
        (("", "", ""), ("exp1", "rank0", "1")),
        (("exp1", "rank10", None), ("exp1", "rank10", "1")),
        (("exp1", None, "2"), ("exp1", "rank0", "2")),
        (("exp2", None, None), ("exp2", "solo", "default")),
    ],
)
def test_missing_names_mean_the_first(
    logdir: Path, asked: tuple[str | None, ...], found: tuple[str, ...]
) -> None:
    file = make_catalog(logdir).file(*asked)
    assert (file.run, file.worker, file.span) == found


@pytest.mark.parametrize(
    ("asked", "code", "hint"),
    [
        (("exp3", None, None), "unknown_run", "exp"),
        (("exp1", "rnak2", None), "unknown_worker", "rank2"),
        (("exp1", "rank2", "2"), "unknown_span", "1"),
        (("../../etc", None, None), "unknown_run", "exp1, exp2"),
        (("exp1", None, "9"), "unknown_span", "1"),
    ],
)
def test_unknown_names_get_suggestions(
    logdir: Path, asked: tuple[str | None, ...], code: str, hint: str
) -> None:
    with pytest.raises(UnknownError) as caught:
        make_catalog(logdir).file(*asked)
    assert caught.value.problem.code == code
    assert hint in (caught.value.problem.hint or "")


def test_workers_of_a_span(logdir: Path) -> None:
    catalog = make_catalog(logdir)
    assert list(catalog.workers("exp1", "1")) == ["rank0", "rank2", "rank10"]
    assert list(catalog.workers("exp1", "2")) == ["rank0"]
    assert list(catalog.workers("exp2", None)) == ["solo"]


def test_a_worker_with_an_empty_name(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "r" / ".pt.trace.json")
    write_trace(tmp_path / "r" / "a.pt.trace.json")
    catalog = make_catalog(tmp_path)
    assert catalog.file("r", "", None).location.name == ".pt.trace.json"
    assert catalog.file("r", "a", None).location.name == "a.pt.trace.json"


def test_files_that_appear_and_go_later_are_seen(logdir: Path, write_trace: Writer) -> None:
    catalog = make_catalog(logdir)
    before = len(catalog.refresh().files())
    write_trace(logdir / "exp1" / "late.pt.trace.json")
    write_trace(logdir / "exp3" / "w.pt.trace.json")
    (logdir / "exp2" / "solo.pt.trace.json").unlink()
    assert len(catalog.refresh().files()) == before + 1
    assert catalog.file("exp3", "w", None).run == "exp3"
    with pytest.raises(UnknownError):
        catalog.file("exp2", None, None)


def test_a_new_run_is_available_by_name_without_waiting(
    logdir: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog_module, "RETRY_UNKNOWN_S", 0.0)
    catalog = make_catalog(logdir, rescan_s=3600)
    catalog.contents()
    write_trace(logdir / "brand_new" / "w.pt.trace.json")
    assert catalog.file("brand_new", None, None).worker == "w"


def test_a_changed_file_starts_over(logdir: Path, write_trace: Writer) -> None:
    catalog = make_catalog(logdir)
    path = logdir / "exp2" / "solo.pt.trace.json"
    path.write_text("broken")
    catalog.refresh()
    broken = catalog.file("exp2", None, None)
    catalog.store.request(broken)
    catalog.store.wait([broken], 10)
    assert catalog.store.status(broken).state == "failed"
    write_trace(path)
    catalog.refresh()
    mended = catalog.file("exp2", None, None)
    assert catalog.store.request(mended).state in ("queued", "parsing", "ready")


def test_a_directly_named_file_is_a_root(tmp_path: Path, write_trace: Writer) -> None:
    catalog = make_catalog(write_trace(tmp_path / "exp" / "step5.json"))
    catalog.contents()
    assert names(catalog) == [("exp", "step5", "default")]


def test_runs_of_several_roots_are_separate(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "a" / "run" / "w.pt.trace.json")
    write_trace(tmp_path / "b" / "run" / "w.pt.trace.json")
    catalog = make_catalog(tmp_path / "a", tmp_path / "b")
    catalog.contents()
    assert names(catalog) == [("a/run", "w", "default"), ("b/run", "w", "default")]


def test_runs_of_roots_with_one_name_are_separate(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "x" / "a" / "w.pt.trace.json")
    write_trace(tmp_path / "y" / "a" / "w.pt.trace.json")
    catalog = make_catalog(tmp_path / "x" / "a", tmp_path / "y" / "a")
    catalog.contents()
    assert len(set(names(catalog))) == 2


def test_a_folder_without_traces(tmp_path: Path) -> None:
    with pytest.raises(OpenError) as caught:
        make_catalog(tmp_path).file(None, None, None)
    assert caught.value.problem.code == "no_traces"


def test_a_logdir_that_appears_later(tmp_path: Path, write_trace: Writer) -> None:
    catalog = make_catalog(tmp_path / "later")
    problem = catalog.contents().problem
    assert problem is not None
    assert problem.code == "not_found"
    write_trace(tmp_path / "later" / "r" / "w.pt.trace.json")
    assert len(catalog.refresh().files()) == 1


def test_requests_do_not_wait_for_a_slow_scan(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    may_end = threading.Event()

    def slow(*_: object) -> Discovery:
        may_end.wait(30)
        return Discovery()

    monkeypatch.setattr(roots, "discover", slow)
    catalog = make_catalog(tmp_path)
    assert catalog.contents(0.05).runs == {}
    assert catalog.discovering
    may_end.set()


def test_questions_in_a_row_scan_once(monkeypatch: pytest.MonkeyPatch, logdir: Path) -> None:
    scans: list[float] = []

    def counted(place: Location, options: DiscoveryOptions) -> Discovery:
        scans.append(time.monotonic())
        return discover(place, options.completeness)

    monkeypatch.setattr(roots, "discover", counted)
    catalog = make_catalog(logdir, rescan_s=3600)
    for _ in range(50):
        catalog.contents()
    assert len(scans) == 1


def test_a_worker_without_a_name(tmp_path: Path, write_trace: Writer) -> None:
    """``.pt.trace.json`` is a trace of the empty worker."""
    for name in (".pt.trace.json", "w.pt.trace.json"):
        write_trace(tmp_path / "r" / name)
    catalog = make_catalog(tmp_path)
    assert catalog.file("r", None, None).worker == ""
    assert catalog.file("r", "", None).worker == ""
    assert catalog.file("r", "w", None).worker == "w"
