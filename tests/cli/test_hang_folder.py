"""A folder with dumps of the flight recorder alone is a run, and its report says who hangs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Done

HANGS = Path(__file__).parents[1] / "data" / "hangs"


def test_a_folder_of_dumps_is_reported(run: Callable[..., Done], tmp_path: Path) -> None:
    for path in (HANGS / "skip").iterdir():
        shutil.copy(path, tmp_path / path.name)
    done = run("report", tmp_path, "--view", "hang")
    assert done.code == 0
    assert "Rank 1 called all_gather as #4 of the group of all ranks" in done.out


def test_dumps_as_json_without_rank_in_the_name_are_one_run(
    run: Callable[..., Done], tmp_path: Path
) -> None:
    for path in (HANGS / "sleep").glob("*.json"):
        shutil.copy(path, tmp_path / path.name)
    done = run("report", tmp_path, "--view", "hang")
    assert done.code == 0
    assert "Rank 2 never called all_reduce #4" in done.out
