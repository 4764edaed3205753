"""Reports are exported with the program ``nsys`` if it is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.importers.nsys.exports import KERNEL, kernel, names_of, strings, write_export
from torch_tb_profiler.importers import (
    Reading,
    TraceFormatError,
    detect_format,
    import_source,
    trace_names,
)
from torch_tb_profiler.importers.source import Source

FakeNsys = Callable[[str], Path]


@pytest.fixture(name="report")
def report_of_a_run(tmp_path: Path) -> Path:
    path = tmp_path / "my run.nsys-rep"
    path.write_bytes(b"\0a report" * 1000)
    return path


@pytest.fixture(name="fake_nsys")
def nsys_that_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeNsys:
    """A program ``nsys`` whose arguments are ``args``."""
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path / "cache"))

    def make(code: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / "nsys"
        program.write_text(
            f"#!{sys.executable}\nimport shutil, sys, time\nargs = sys.argv[1:]\n{code}\n"
        )
        program.chmod(0o700)
        monkeypatch.setenv("PATH", str(folder))
        return tmp_path / "cache"

    return make


def opened(path: Path) -> Source:
    return Source(str(path), iter([path.read_bytes()]), path=str(path))


def left_in(cache: Path) -> list[str]:
    return [name for _, _, names in os.walk(cache) for name in names]


def test_a_report_is_exported_and_read(report: Path, fake_nsys: FakeNsys, tmp_path: Path) -> None:
    export = write_export(
        tmp_path / "made.sqlite", {"StringIds": strings("f"), KERNEL: [kernel(0, 5)]}
    )
    cache = fake_nsys(
        f"open({str(tmp_path / 'args')!r}, 'w').write('|'.join(args))\n"
        f"shutil.copy({str(export)!r}, args[5])"
    )
    heard: list[int] = []
    columns = import_source(opened(report), Reading(progress=heard.append))
    assert (columns.format, names_of(columns, "kernel")) == ("nsys", ["f"])
    args = (tmp_path / "args").read_text().split("|")
    assert args[:5] == ["export", "--type", "sqlite", "--lazy=false", "-o"]
    assert args[5].startswith(str(cache))
    assert args[6].endswith(".nsys-rep")
    assert len(args) == 7
    assert heard == sorted(heard)
    assert 0 < heard[-1] <= report.stat().st_size
    assert left_in(cache) == []


@pytest.mark.parametrize("code", ["sys.exit(3)", "pass"])
def test_an_export_that_fails(report: Path, fake_nsys: FakeNsys, code: str) -> None:
    cache = fake_nsys(code)
    with pytest.raises(TraceFormatError) as error:
        import_source(opened(report))
    assert error.value.code == "nsys_report"
    assert "nsys ended with" in error.value.message
    assert left_in(cache) == []


def test_without_the_program_the_error_has_the_command(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TraceFormatError) as error:
        import_source(opened(report))
    assert error.value.hint == (
        "Export it where Nsight Systems is installed: "
        "nsys export --type sqlite --lazy=false -o 'my run.sqlite' 'my run.nsys-rep'"
    )


def test_a_program_in_the_working_directory_is_not_run(
    report: Path, fake_nsys: FakeNsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_nsys("pass")
    monkeypatch.chdir(tmp_path)
    for path in ("bin", ".", ""):
        monkeypatch.setenv("PATH", path)
        monkeypatch.chdir(tmp_path / "bin" if path != "bin" else tmp_path)
        with pytest.raises(TraceFormatError, match="which only nsys can read"):
            import_source(opened(report))


def test_an_export_can_be_cancelled(report: Path, fake_nsys: FakeNsys) -> None:
    cache = fake_nsys("time.sleep(60)")

    def ends(_: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        import_source(opened(report), Reading(progress=ends))
    assert left_in(cache) == []


def test_in_folders_the_export_replaces_the_report() -> None:
    names = trace_names()
    assert ".nsys-rep" in names.endings
    assert detect_format(b"\0a report", "run.nsys-rep", True).format == "nsys-rep"
    assert {(ending, ".nsys-rep") for ending in (".sqlite", ".sqlite3", ".db")} <= set(
        names.replaces
    )
