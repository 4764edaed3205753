"""Cases: skipped files are listed and opened by their listed name only; sixteen concurrent
requests; several roots; a file that disappears; known runs while files are inspected; recognition
by names alone; following links."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.queries.runs import open_answer, runs_answer
from torch_tb_profiler.loading.queries.traces import open_traces
from torch_tb_profiler.loading.status import NotReadyError
from torch_tb_profiler.requests.errors import OpenError, UnknownError
from torch_tb_profiler.storage.format_detection import FormatScanner
from torch_tb_profiler.trace.model import Trace

Writer = Callable[..., Path]
THREADS = 16


@pytest.fixture
def logdir(tmp_path: Path, write_trace: Writer) -> Path:
    folder = tmp_path / "logs"
    write_trace(folder / "exp" / "w.pt.trace.json")
    write_trace(folder / "exp" / "mine.json")
    for name in ("config.json", "exp/settings.json", "exp/wrong.json"):
        (folder / name).write_text('{"model_type": "llama"}')
    (folder / "secret.txt").write_text("{}")
    write_trace(tmp_path / "outside.json")
    return folder


def opened_trace(catalog: Catalog, run: str) -> Trace:
    return open_traces(catalog, [catalog.file(run, None, None)], None)[0]


def make_catalog(*folders: Path) -> Catalog:
    return Catalog([TraceRoot(str(folder)) for folder in folders], cache=None, rescan_s=0.0)


def test_what_was_left_out_is_listed_and_opened_by_its_name(logdir: Path) -> None:
    catalog = make_catalog(logdir)
    answer = runs_answer(catalog, wait_s=None)
    assert [run.name for run in answer.runs] == ["exp", "exp/mine"]
    listed = [(one.name, one.reason, one.can_open) for one in answer.left_out]
    assert sorted(listed) == [
        ("config.json", "not_a_trace", True),
        ("exp/settings.json", "not_a_trace", True),
        ("exp/wrong.json", "not_a_trace", True),
    ]
    assert answer.left_out_counts == {"not_a_trace": 3}
    opened = open_answer(catalog, "exp/wrong.json", wait_s=None)
    assert (opened.run, opened.worker, opened.span) == ("exp/wrong", "wrong", "default")
    assert open_answer(catalog, "exp/wrong.json", wait_s=None) == opened
    answer = runs_answer(catalog, wait_s=None)
    assert answer.left_out_counts == {"not_a_trace": 2}
    span = next(run for run in answer.runs if run.name == "exp/wrong").workers[0].spans[0]
    assert span.path == "exp/wrong.json"
    assert span.modified_s == pytest.approx((logdir / "exp" / "wrong.json").stat().st_mtime)
    with pytest.raises(OpenError, match=r"wrong\.json"):
        opened_trace(catalog, "exp/wrong")


@pytest.mark.parametrize(
    "name",
    ["", "secret.txt", "../outside.json", "exp/../config.json", "/etc/passwd", "nothing.json",
     "exp", "config", "config.json\0"],
)  # fmt: skip
def test_no_other_name_is_opened(logdir: Path, name: str) -> None:
    catalog = make_catalog(logdir)
    with pytest.raises(UnknownError) as caught:
        open_answer(catalog, name, wait_s=None)
    assert caught.value.problem.code == "unknown_file"
    assert "exp/mine" in catalog.refresh().runs


def test_a_discovered_trace_is_opened_by_its_path(logdir: Path) -> None:
    opened = open_answer(make_catalog(logdir), "exp/mine.json", wait_s=None)
    assert (opened.run, opened.worker) == ("exp/mine", "mine")


def test_sixteen_concurrent_requests_open_their_files(tmp_path: Path) -> None:
    for number in range(THREADS):
        (tmp_path / f"settings_{number}.json").write_text("{}")
    catalog = make_catalog(tmp_path)
    barrier = threading.Barrier(THREADS)

    def ask(number: int) -> str:
        barrier.wait(30)
        name = f"settings_{number // 2}.json"
        while True:
            with suppress(NotReadyError):
                return open_answer(catalog, name, wait_s=0.05).run

    with ThreadPoolExecutor(THREADS) as pool:
        runs = list(pool.map(ask, range(THREADS)))
    assert runs == [f"settings_{number // 2}" for number in range(THREADS)]
    assert len(catalog.refresh().runs) == THREADS // 2


def test_names_of_several_roots_begin_with_the_root(tmp_path: Path, write_trace: Writer) -> None:
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "config.json").write_text("{}")
    write_trace(tmp_path / "a" / "w.json")
    catalog = make_catalog(tmp_path / "a", tmp_path / "b")
    answer = runs_answer(catalog, wait_s=None)
    assert [one.name for one in answer.left_out] == ["a/config.json", "b/config.json"]
    assert answer.runs[0].workers[0].spans[0].path == "a/w.json"
    assert open_answer(catalog, "b/config.json", wait_s=None).run == "b/config"


def test_a_file_that_went_is_unknown_and_a_trace_that_went_too(logdir: Path) -> None:
    catalog = make_catalog(logdir)
    catalog.contents()
    (logdir / "config.json").unlink()
    with pytest.raises(UnknownError):
        open_answer(catalog, "config.json", wait_s=None)
    (logdir / "exp" / "mine.json").unlink()
    catalog.refresh()
    with pytest.raises(UnknownError) as caught:
        catalog.file("exp/mine", None, None)
    assert caught.value.problem.hint == "Did you mean exp?"


def test_a_trace_that_went_between_scans_says_what_to_do(logdir: Path) -> None:
    catalog = Catalog([TraceRoot(str(logdir))], cache=None, rescan_s=3600.0)
    file = catalog.file("exp/mine", None, None)
    (logdir / "exp" / "mine.json").unlink()
    with pytest.raises(OpenError) as caught:
        open_traces(catalog, [file], None)
    problem = caught.value.problem
    assert problem.code == "not_found"
    assert "mine.json" in problem.message
    assert "no longer exists" in problem.message
    assert problem.hint is not None
    assert "another run" in problem.hint


def test_known_names_are_shown_while_others_are_inspected(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, scan = threading.Event(), FormatScanner.scan

    def slow(scanner: FormatScanner, candidates: object) -> int:
        may_end.wait(30)
        return scan(scanner, candidates)  # type: ignore[arg-type]

    monkeypatch.setattr(FormatScanner, "scan", slow)
    catalog = make_catalog(logdir)
    catalog.contents(0)
    until = threading.Event()
    for _ in range(600):
        if catalog.contents(0).runs or until.wait(0.05):
            break
    assert list(catalog.contents(0).runs) == ["exp"]
    assert catalog.discovering
    assert catalog.contents(0).skipped_counts == {"undecided": 4}
    may_end.set()
    assert list(catalog.contents().runs) == ["exp", "exp/mine"]
    assert list(catalog.refresh().runs) == ["exp", "exp/mine"]


def test_an_open_trace_stays_open_while_new_files_are_inspected(
    logdir: Path, write_trace: Writer
) -> None:
    catalog = make_catalog(logdir)
    file = catalog.file("exp/mine", None, None)
    trace = open_traces(catalog, [file], None)[0]
    write_trace(logdir / "later.json")
    assert "later" in catalog.refresh().runs
    assert opened_trace(catalog, "exp/mine") is trace


def test_by_names_alone(logdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_NAMES_ONLY", "1")
    catalog = make_catalog(logdir)
    answer = runs_answer(catalog, wait_s=None)
    assert [run.name for run in answer.runs] == ["exp"]
    assert answer.left_out_counts == {"undecided": 4}
    assert open_answer(catalog, "exp/mine.json", wait_s=None).run == "exp/mine"


def test_links_are_followed_on_request(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (logdir / "link.json").symlink_to(tmp_path / "outside.json")
    (left_out,) = (one for one in make_catalog(logdir).contents().skipped if "link" in one.name)
    assert (left_out.reason, left_out.can_open) == ("link_out", False)
    with pytest.raises(UnknownError):
        open_answer(make_catalog(logdir), "link.json", wait_s=None)
    asked = Catalog([TraceRoot(str(logdir), follows_links=True)], cache=None)
    assert opened_trace(asked, "link").slices.height == 1
    monkeypatch.setenv("TORCH_TB_PROFILER_FOLLOW_LINKS", "1")
    assert "link" in make_catalog(logdir).contents().runs
