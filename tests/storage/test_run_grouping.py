"""How traces are grouped into runs: jobs in one folder, folders that differ in the rank, files
of one recording, and files that form one trace together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import fsspec
import pytest

from tests.helpers import discovered
from torch_tb_profiler.storage.discovery import Discovery, DiscoveryOptions, discover
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.names import NamePattern, TraceNames


def runs(logdir: Path, *names: str) -> set[tuple[str, str, str]]:
    for name in names:
        file = logdir / name
        if not name.endswith(".json"):
            file = file / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    files = discovered.discover(open_location(str(logdir))).files
    return {(each.run, each.worker, each.span) for each in files}


RANKS = ("log/n1_11_20250109074804100_ascend_pt", "log/n2_11_20250109074901500_ascend_pt")
LATER = "log/n1_{}_20250109075304100_ascend_pt"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (RANKS, {("log", "n1_11", "1"), ("log", "n2_11", "1")}),
        (
            (*RANKS, LATER.format(11)),
            {("log", "n1_11", "1"), ("log", "n1_11", "2"), ("log", "n2_11", "1")},
        ),
        (
            (*RANKS, LATER.format(22), "log/rank0_ascend_pt", "log/w.pt.trace.json"),
            {
                ("log/20250109074804", "n1_11", "1"),
                ("log/20250109074804", "n2_11", "1"),
                ("log/20250109075304", "n1_22", "1"),
                ("log", "rank0", "default"),
                ("log/kineto", "w", "default"),
            },
        ),
        (
            ("n1_1_20250109074804_ascend_pt", "n1_2_20250110074804_ascend_pt"),
            {("20250109074804", "n1_1", "1"), ("20250110074804", "n1_2", "1")},
        ),
        (
            ("log/w_1.1711022308840235.pt.trace.json", "log/w_2.1811022308840235.pt.trace.json"),
            {("log", "w_1", "1"), ("log", "w_2", "1")},  # no dates
        ),
        (
            ("log/a_20259909074804100_ascend_pt", RANKS[0]),
            {("log", "a", "1"), ("log", "n1_11", "1")},
        ),
    ],
    ids=["ranks", "spans", "two jobs", "in the logdir", "numbers", "no such month"],
)
def test_jobs_of_one_folder(
    tmp_path: Path, names: tuple[str, ...], expected: set[tuple[str, str, str]]
) -> None:
    assert runs(tmp_path, *names) == expected


def workers(root: Path, *names: str) -> list[tuple[str, str, str]]:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    files = discovered.discover(open_location(str(root))).files
    return [(file.run, file.worker, file.span) for file in files]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ("a/w1.pt.trace.json", "a/w2.pt.trace.json", "a/x.paddle_trace.json"),
            {("a", "w1"), ("a", "w2"), ("a/paddle", "x")},
        ),
        # What a worker recorded in several ways is one: its record, and windows of a profiler.
        (
            ("a/w1.record.jsonl", "a/w1.5.pt.trace.json", "a/w2.5.pt.trace.json"),
            {("a", "w1"), ("a", "w2")},
        ),
        (
            ("a/w1.record.jsonl", "a/v.pt.trace.json"),
            {("a", "v"), ("a/record", "w1")},
        ),
        # People choose names of Perfetto files: only the rank relates two of them.
        (
            ("a/train.pftrace", "a/bench.pftrace"),
            {("a/train", "train"), ("a/bench", "bench")},
        ),
        (
            ("a/train_rank0.pftrace", "a/train_rank1.pftrace"),
            {("a", "train_rank0"), ("a", "train_rank1")},
        ),
        (("a/one.pftrace",), {("a", "one")}),
        (
            ("a/w.pt.trace.json", "a/w.9.pftrace", "a/other.pftrace"),
            {("a", "w"), ("a/other", "other")},
        ),
        (
            ("w.pt.trace.json", "x.paddle_trace.json", "kineto/y.pt.trace.json"),
            {(".", "w"), ("paddle", "x"), ("kineto", "y")},
        ),
    ],
)
def test_strangers_of_one_folder_are_runs_of_their_own(
    tmp_path: Path, names: tuple[str, ...], expected: set[tuple[str, str]]
) -> None:
    root = tmp_path / "."
    found = workers(root, *names)
    own = tmp_path.name
    assert {(run if run != own else ".", worker) for run, worker, _ in found} == expected


def test_ranks_in_folders_of_their_own(tmp_path: Path) -> None:
    names = [f"job/rank{rank}/host_{rank}.{rank}7.pt.trace.json" for rank in (0, 1, 10)]
    assert workers(tmp_path, *names) == [
        ("job", "rank0", "1"),
        ("job", "rank1", "1"),
        ("job", "rank10", "1"),
    ]


def test_ranks_of_several_jobs_side_by_side(tmp_path: Path) -> None:
    names = [f"{job}_rank_{rank}/w.pt.trace.json" for job in "ab" for rank in (0, 1)]
    assert workers(tmp_path, *names) == [
        (job, f"rank_{rank}", "default") for job in "ab" for rank in (0, 1)
    ]


def test_of_a_logdir_of_nothing_but_ranks_it_is_the_run(tmp_path: Path) -> None:
    names = ["rank0/w.pt.trace.json", "rank1/w.pt.trace.json", "rank1/v.pt.trace.json"]
    assert workers(tmp_path / "logs", *names) == [
        ("logs", "rank0", "default"),
        ("logs", "rank1-v", "default"),
        ("logs", "rank1-w", "default"),
    ]


@pytest.mark.parametrize(
    "names",
    [
        ["job/rank0/w.pt.trace.json"],  # one alone: a run
        ["job/w.pt.trace.json", "job/rank0/w.pt.trace.json", "job/rank1/w.pt.trace.json"],
        ["epoch0/w.pt.trace.json", "epoch1/w.pt.trace.json"],
        ["tp8/w.pt.trace.json", "tp16/w.pt.trace.json"],
    ],
)
def test_others_stay_runs(tmp_path: Path, names: list[str]) -> None:
    assert len({run for run, _, _ in workers(tmp_path, *names)}) == len(names)


NAMES = TraceNames(
    files=(NamePattern.ending_with(".a.json"), NamePattern.ending_with(".db")),
    members=(NamePattern("steps_*.csv", re.compile(r"(?:steps|flops)_(?P<worker>\d+)\.csv")),),
    replaces=((".db", ".a.json"), (".a.db", ".a.json")),
)


class Place(Protocol):
    """Puts files somewhere below a folder of a name of its own."""

    def __call__(self, root: Path, *names: str) -> str:
        """The place as a URL."""


def placed(root: Path, *names: str) -> str:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return str(root)


def stored(root: Path, *names: str) -> str:
    memory = fsspec.filesystem("memory")
    for name in names:
        memory.pipe(f"/{root.name}/{name}", name.encode())
    return f"memory://{root.name}"


def found(url: str) -> Discovery:
    return discover(open_location(url), DiscoveryOptions(NAMES))


def spans(discovery: Discovery) -> list[tuple[str, str, str]]:
    return [(file.run, file.worker, file.location.name) for file in discovery.files]


@pytest.mark.parametrize("place", [placed, stored])
def test_a_companion_is_not_shown(tmp_path: Path, place: Place) -> None:
    names = ["r/one.a.json", "r/one.db", "r/two.a.json", "r/three.a.db", "r/three.a.json"]
    discovery = found(place(tmp_path, *names))
    assert spans(discovery) == [
        ("r", "one", "one.db"),
        ("r", "three.a", "three.a.db"),
        ("r", "two", "two.a.json"),
    ]
    assert discovery.skipped.counts == {"companion": 2}
    text = "r/one.a.json is the same recording as one.db, which has more detail; only that one is "
    assert f"{text}shown." in [each.text for each in discovery.skipped.listed]
    assert set(discovery.skipped.openable) == {"r/one.a.json", "r/three.a.json"}


def test_in_another_folder_it_is_none(tmp_path: Path) -> None:
    assert len(found(placed(tmp_path, "a/one.a.json", "b/one.db")).files) == 2


@pytest.mark.parametrize("place", [placed, stored])
def test_files_of_one_folder_are_a_trace_for_each_worker(tmp_path: Path, place: Place) -> None:
    names = ["job/steps_0.csv", "job/flops_0.csv", "job/steps_10.csv", "steps_2.csv", "job/x.csv"]
    discovery = found(place(tmp_path, *names))
    files = {file.path: file for file in discovery.files}
    assert [(file.run, file.worker) for file in discovery.files] == [
        ("job", "rank0"),
        ("job", "rank10"),
        (tmp_path.name, "rank2"),
    ]
    assert files["job#rank0"].location.members == ("flops_0.csv", "steps_0.csv")
    assert files["job#rank0"].state.size_bytes == len("job/steps_0.csv" + "job/flops_0.csv")
    assert len({file.location.url for file in discovery.files}) == 3
