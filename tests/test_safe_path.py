"""Cases: entries that depend on the current folder are removed, those of Python itself stay, the
folder of the package comes last where it would be lost; workers get the parent's package and
options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from torch_tb_profiler.safe_path import PACKAGE_FOLDER, safe_path

STANDARD_LIBRARY = os.path.dirname(os.__file__)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_current_folder_and_relative_entries_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = ["", ".", "source", str(tmp_path), f"{tmp_path}/", "/own/modules", PACKAGE_FOLDER]
    monkeypatch.setattr(sys, "path", entries)
    assert safe_path() == ["/own/modules", PACKAGE_FOLDER]


def test_a_checkout_that_is_the_current_folder_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PACKAGE_FOLDER)
    monkeypatch.setattr(sys, "path", [PACKAGE_FOLDER, STANDARD_LIBRARY])
    assert safe_path() == [STANDARD_LIBRARY, PACKAGE_FOLDER]


def test_the_standard_library_stays_when_it_is_the_current_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(STANDARD_LIBRARY)
    monkeypatch.setattr(sys, "path", [STANDARD_LIBRARY, PACKAGE_FOLDER])
    assert safe_path() == [STANDARD_LIBRARY, PACKAGE_FOLDER]


def test_a_folder_that_was_deleted_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["", PACKAGE_FOLDER])
    assert safe_path() == [PACKAGE_FOLDER]


HOST = """
import sys
from torch_tb_profiler.loading.processes.executors import LocalExecutor
executor = LocalExecutor(1)
expression = "[__import__('torch_tb_profiler').__file__, __import__('sys').flags.utf8_mode]"
print(*executor.submit(eval, expression).result(60))
executor.shutdown()
"""


def test_a_worker_takes_the_package_of_its_parent_and_reads_names_as_it_does(
    tmp_path: Path,
) -> None:
    other = tmp_path / "installed" / "torch_tb_profiler"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise ImportError('another version')")
    path = os.pathsep.join((PACKAGE_FOLDER, str(other.parent)))
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", HOST],
        cwd=PACKAGE_FOLDER,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == [f"{PACKAGE_FOLDER}/torch_tb_profiler/__init__.py", "1"]
