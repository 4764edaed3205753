"""Of files that are one recording the one that tells most is shown, and the other can be opened."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

import fsspec
import pytest

from torch_tb_profiler.storage.discovery import Discovery, Looking, discover
from torch_tb_profiler.storage.locations import open_location
from torch_tb_profiler.storage.names import NamePattern, TraceNames

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
    return discover(open_location(url), Looking(NAMES))


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
    assert discovery.others.counts == {"companion": 2}
    text = "r/one.a.json is the same recording as one.db, which tells more; it is shown once."
    assert text in [each.text for each in discovery.others.listed]
    assert set(discovery.others.openable) == {"r/one.a.json", "r/three.a.json"}


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
