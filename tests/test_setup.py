"""Building from source: pages in the wheel, nothing stale in it, and the next step without Node."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "THIRD_PARTY_NOTICES.md")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the package without pages, as in a fresh clone."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in NEEDED:
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("static", "__pycache__", "compiled")
    shutil.copytree(ROOT / "torch_tb_profiler", folder / "torch_tb_profiler", ignore=ignored)
    (folder / "fe").mkdir()
    (folder / "fe" / "package.json").write_text("{}")
    return folder


def _build(source: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "setup.py", "-q", "bdist_wheel", "-d", "out"]
    return subprocess.run(
        command, cwd=source, capture_output=True, text=True, check=False,
        env={**os.environ, "TORCH_TB_PROFILER_SKIP_NATIVE": "1", **environment},
    )  # fmt: skip


def _make_pages(source: Path, asset: str) -> None:
    pages = source / "torch_tb_profiler" / "static"
    shutil.rmtree(pages, ignore_errors=True)
    (pages / "assets").mkdir(parents=True)
    (pages / "assets" / asset).write_text("")
    (pages / "index.html").write_text("<!doctype html>")


def _names(source: Path, platform: str = "any") -> set[str]:
    (wheel,) = (source / "out").iterdir()
    assert re.search(f"-py3-none-{platform}.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_a_wheel_holds_fresh_pages_rules_and_licences_and_nothing_of_an_earlier_build(
    source: Path,
) -> None:
    for asset in ("old-1.js", "new-2.js"):
        _make_pages(source, asset)
        shutil.rmtree(source / "out", ignore_errors=True)
        done = _build(source, PATH="/nonexistent")
        assert done.returncode == 0, done.stderr
    names = _names(source)
    assert "torch_tb_profiler/static/assets/new-2.js" in names
    assert "torch_tb_profiler/static/assets/old-1.js" not in names
    assert {"torch_tb_profiler/py.typed", "torch_tb_profiler/knowledge/kernels.toml"} <= names
    assert "torch_tb_profiler/recorder/bootstrap/sitecustomize.py" in names
    assert {Path(name).name for name in names} >= {"LICENSE", "THIRD_PARTY_NOTICES.md"}
    assert not any(name.startswith(("tests/", "bench/", "fe/")) for name in names)


def test_without_node_the_error_says_what_to_install(source: Path) -> None:
    done = _build(source, PATH="/nonexistent")
    assert done.returncode != 0
    assert "no node on PATH" in done.stderr
    assert "Install Node 20.19 or newer" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_old_node_is_refused(source: Path, tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("node", "npm"):
        (tools / name).write_text("#!/bin/sh\necho v18.19.0\n")
        (tools / name).chmod(0o755)
    done = _build(source, PATH=str(tools))
    assert done.returncode != 0
    assert "v18.19.0" in done.stderr


def test_stale_pages_are_built_again_by_npm(source: Path, tmp_path: Path) -> None:
    _make_pages(source, "old.js")
    later = (source / "torch_tb_profiler" / "static" / "index.html").stat().st_mtime + 10
    os.utime(source / "fe" / "package.json", (later, later))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "node").write_text("#!/bin/sh\necho v22.12.0\n")
    (tools / "npm").write_text(f'#!/bin/sh\necho "$PWD $1" >> {tmp_path}/calls\n')
    for name in ("node", "npm"):
        (tools / name).chmod(0o755)
    done = _build(source, PATH=str(tools))
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [f"{source}/fe ci", f"{source}/fe run"]


def test_pages_can_be_left_out_on_purpose(source: Path) -> None:
    done = _build(source, PATH="/nonexistent", TORCH_TB_PROFILER_SKIP_FE="1")
    assert done.returncode == 0, done.stderr
    assert "torch_tb_profiler/static/index.html" not in _names(source)


def test_a_source_archive_without_pages_is_told(source: Path) -> None:
    shutil.rmtree(source / "fe")
    done = _build(source)
    assert done.returncode != 0
    assert "neither the pages" in done.stderr


def test_a_source_archive_has_its_pages_whatever_the_times_of_its_files_say(source: Path) -> None:
    _make_pages(source, "built.js")
    later = (source / "torch_tb_profiler" / "static" / "index.html").stat().st_mtime + 10
    os.utime(source / "fe" / "package.json", (later, later))
    (source / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: torch-tb-profiler\n")
    done = _build(source, PATH="/nonexistent")
    assert done.returncode == 0, done.stderr
    assert "torch_tb_profiler/static/assets/built.js" in _names(source)


def test_the_decoder_is_compiled_where_a_compiler_is_and_left_out_elsewhere(source: Path) -> None:
    _make_pages(source, "a.js")
    ignored = shutil.ignore_patterns("target", "fuzz")
    shutil.copytree(ROOT / "native", source / "native", ignore=ignored)
    has_compiler = shutil.which("cargo") is not None
    for path, count in ((os.environ["PATH"], int(has_compiler)), ("/nonexistent", 0)):
        for folder in ("out", "build"):
            shutil.rmtree(source / folder, ignore_errors=True)
        done = _build(source, PATH=path, TORCH_TB_PROFILER_SKIP_NATIVE="0")
        assert done.returncode == 0, done.stderr
        names = _names(source, "(?!any)[a-z0-9_]+")
        assert sum("/kineto/compiled/" in name for name in names) == count
