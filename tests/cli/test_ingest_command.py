"""``ingest``: results and exit codes; a second time nothing is parsed; a broken file is reported
and the others are cached; an interrupt ends it with its workers. Local entries are uploaded to the
bucket; a run larger than the limit stays with a warning."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from torch_tb_profiler.loading.opening import open_file as opening
from torch_tb_profiler.loading.opening import parsing
from torch_tb_profiler.storage.cache_folder import CacheFolder

Run = Callable[..., Done]
RANKS = 8


@pytest.fixture(name="logs")
def a_run(samples: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    shutil.copytree(samples / "dlrm_8_ranks", folder / "dlrm")
    return folder


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_rank_is_cached_and_not_parsed_again(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.setattr(parsing, "SMALL_BYTES", 0)
    cache = f"--cache-dir={tmp_path / 'cache'}"
    done = run("ingest", logs, cache, "--workers", workers)
    assert done.code == 0
    assert done.out.startswith(f"{RANKS} of {RANKS} traces are ready; ")
    assert "of 8 traces" in done.err
    again = run("ingest", logs, cache)
    assert again.code == 0
    assert f"{RANKS} of them were cached before; 0 MB parsed" in again.out
    parsed = run("report", logs, "--view=distributed", "--format=json", "--no-cache").json
    monkeypatch.setattr(opening, "import_source", None)  # parsing would fail now
    requested = ("--view=distributed", "--format=json", cache)
    assert run("report", logs, *requested).json == parsed
    assert run("report", logs, "--view=overview", "--format=json", cache).code == 0


def test_a_broken_rank_is_3_and_the_others_are_cached(run: Run, logs: Path) -> None:
    (logs / "dlrm" / "bad.1.pt.trace.json").write_text("<html>")
    done = run("ingest", logs)
    assert done.code == 3
    assert f"{RANKS} of {RANKS + 1} traces are ready, 1 failed" in done.out
    assert "bad.1.pt.trace.json is a web page" in done.err


def test_only_one_run(run: Run, logs: Path, samples: Path) -> None:
    shutil.copytree(samples / "cpu_ddp4_gloo", logs / "gloo")
    assert run("ingest", logs, "--run", "gloo").out.startswith("4 of 4 traces are ready")
    done = run("ingest", logs, "--run", "glo")
    assert done.code == 2
    assert "Did you mean gloo?" in done.err


def test_invalid_paths_and_numbers(run: Run, logs: Path, tmp_path: Path) -> None:
    done = run("ingest", tmp_path / "missing", logs)
    assert done.code == 3
    assert "missing does not exist" in done.err
    assert f"{RANKS} of {RANKS} traces are ready" in done.out
    for workers in ("0", "-1", "x", "1025"):
        assert run("ingest", logs, "--workers", workers).code == 2


def test_an_unwritable_cache_is_reported(run: Run, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = run("ingest", logs, f"--cache-dir={tmp_path / 'file' / 'x'}")
    assert done.code == 3
    assert "could not be cached" in done.err
    assert "--cache-dir" in done.err


def test_local_entries_are_uploaded_to_the_bucket(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "here"))
    monkeypatch.delenv("TORCH_TB_PROFILER_CACHE_DIR", raising=False)
    here = f"--cache-dir={tmp_path / 'here' / 'torch_tb_profiler'}"
    assert run("ingest", logs, here, "--workers=1").code == 0
    bucket = f"--cache-dir=memory://{tmp_path.name}/ranks"
    done = run("ingest", logs, bucket, "--workers=1")
    assert done.code == 0
    assert f"{RANKS} were uploaded to the bucket; 0 MB" in done.out
    assert "lifecycle rule" in done.err
    assert f"Entries in it: {2 * RANKS}" in done.err  # the traces and their summaries
    again = run("ingest", logs, bucket, "--workers=1")
    assert f"{RANKS} of them were cached before; 0 MB parsed" in again.out
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    elsewhere = run("ingest", logs, bucket, "--workers=1")
    assert f"{RANKS} of them were cached before; 0 MB parsed" in elsewhere.out
    assert not list((tmp_path / "there").glob("*/entries/*/*"))  # counted, not fetched
    monkeypatch.setattr(opening, "import_source", None)  # parsing would fail now
    assert run("report", logs, bucket, "--view=distributed").code == 0


def test_failed_uploads_are_reported(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "here"))
    (tmp_path / "file").touch()
    done = run("ingest", logs, f"--cache-dir=local://{tmp_path / 'file' / 'x'}", "--workers=1")
    assert done.code == 3
    assert f"{RANKS} could not be uploaded" in done.out
    assert "not in the bucket" in done.err


def test_a_run_larger_than_the_limit_stays_with_a_warning(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_GB", "0.0001")
    cache = tmp_path / "cache"
    done = run("ingest", logs, f"--cache-dir={cache}", "--workers=1")
    assert done.code == 0
    assert "more than its limit of 0.0001 GB" in done.err
    assert "0.0001 GB. Ingested traces stay for 7 days" in done.err
    for entry in cache.glob("entries/*/*"):
        os.utime(entry, (time.time() - 86400,) * 2)  # the server is started on the next day
    CacheFolder(cache).evict()
    again = run("ingest", logs, f"--cache-dir={cache}", "--workers=1")
    assert f"{RANKS} of them were cached before; 0 MB parsed" in again.out


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_an_interrupt_ends_it_with_its_workers(logs: Path, tmp_path: Path) -> None:
    for number in range(60):
        for file in list((logs / "dlrm").glob("worker*")):
            (logs / str(number)).mkdir(exist_ok=True)
            os.link(file, logs / str(number) / file.name)
    command = [sys.executable, "-m", "torch_tb_profiler", "ingest", str(logs), "--workers=2"]
    cache = tmp_path / "cache"
    with subprocess.Popen(
        [*command, f"--cache-dir={cache}"], stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        deadline_s = time.monotonic() + 60
        while not list(cache.glob("entries/*/*")) and time.monotonic() < deadline_s:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err
    deadline_s = time.monotonic() + 60
    while _is_group_running(process.pid) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not _is_group_running(process.pid)


def _is_group_running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
