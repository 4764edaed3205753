"""A folder from elsewhere with a module of every name that Python or this program may import.

Cases: reading a large file (helpers), reading and ingesting several (workers), a server, and the
API from a script elsewhere. Each is started in the folder, and none of its modules may run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from torch_tb_profiler.loading.opening.parsing import LARGE_BYTES

COMMAND = Path(sys.executable).parent / "torch-tb-profiler"
IMPORTED = (
    "numpy", "polars", "msgspec", "isal", "fsspec", "werkzeug", "tensorboard", "tomli",
    "pandas", "pyarrow", "torch", "s3fs", "dask", "distributed", "yaml", "tests",
    "sitecustomize", "usercustomize", "torch_tb_profiler",
)  # fmt: skip
"""Modules outside of the standard library that may be imported, or be looked for."""

IN_A_WORKER = (
    "import torch_tb_profiler.loading.ingest.job, asyncio, logging.handlers, unittest.mock"
)
SCRIPT = f"""
import torch_tb_profiler
from torch_tb_profiler.loading.processes.executors import LocalExecutor
print(torch_tb_profiler.open_trace("large.json", cache=False).overview().frame.height)
executor = LocalExecutor(1)
executor.submit(exec, {IN_A_WORKER!r}).result(60)
executor.shutdown()
"""


@dataclass(frozen=True)
class Folder:
    """Where a command is started.

    Attributes:
        path: The folder with the modules.
        mark: Each module appends its name to this file when it is imported.
        elsewhere: A folder of the user's own.
    """

    path: Path
    mark: Path
    elsewhere: Path

    def run(self, *command: str | Path) -> str:
        """What a command printed that was started in the folder, and ended well."""
        environment = os.environ | {"TORCH_TB_PROFILER_CACHE_DIR": str(self.elsewhere / "cache")}
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(
            command, cwd=self.path, env=environment, capture_output=True, timeout=120, check=False
        )
        assert self.imported() == set()
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def imported(self) -> set[str]:
        """The modules that ran."""
        return set(self.mark.read_text().split()) if self.mark.exists() else set()


@pytest.fixture
def folder(tmp_path: Path, write_trace: Callable[..., Path]) -> Folder:
    hostile = Folder(tmp_path / "downloaded", tmp_path / "imported", tmp_path / "elsewhere")
    hostile.path.mkdir()
    hostile.elsewhere.mkdir()
    for name in {*sys.stdlib_module_names, *IMPORTED}:
        line = f"open({str(hostile.mark)!r}, 'a').write({name + ' '!r})\n"
        (hostile.path / f"{name}.py").write_text(line)
    for name in ("run/a.pt.trace.json", "run/b.pt.trace.json"):
        write_trace(hostile.path / name)
    text = (hostile.path / "run/a.pt.trace.json").read_text()
    blanks = " " * (LARGE_BYTES - len(text))
    (hostile.path / "large.json").write_text(f"{text.removesuffix(']}')}{blanks}]}}")
    return hostile


def test_a_large_file_is_read_by_helpers(folder: Folder) -> None:
    command = (COMMAND, "report", "large.json", "--no-cache", "--workers", "3")
    answer = json.loads(folder.run(*command, "--view", "operators", "--format", "json"))
    assert answer["tables"]["operators"]["row_count"] == 1


@pytest.mark.parametrize("command", ["report", "ingest"])
def test_several_files_are_read_by_workers(folder: Folder, command: str) -> None:
    assert folder.run(COMMAND, command, "run", "--workers", "3")


def test_a_script_elsewhere_reads_with_the_api(folder: Folder) -> None:
    script = folder.elsewhere / "script.py"
    script.write_text(SCRIPT)
    assert int(folder.run(sys.executable, script)) > 0


def test_as_a_module_nothing_is_imported_that_python_does_not_import_itself(folder: Folder) -> None:
    (folder.elsewhere / "probe.py").write_text("import sys; print(*sys.modules)")
    probe = (sys.executable, "-m", "probe")
    loaded = subprocess.run(probe, cwd=folder.elsewhere, capture_output=True, check=True).stdout
    for name in {"torch_tb_profiler", *loaded.decode().split()}:
        (folder.path / f"{name}.py").unlink(missing_ok=True)
    assert folder.run(sys.executable, "-m", "torch_tb_profiler", "report", "run", "--workers", "3")
