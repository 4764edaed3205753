"""Cases: the workers of a real cluster parse a run into the shared cache, and its distributed view
parses nothing then; a worker killed on the way loses no rank; a scheduler killed on the way is
told, without a traceback; a broken rank is told and the others are there; no scheduler, and no
Dask, are told with the next step.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from tests.dask.conftest import Cluster
from torch_tb_profiler.cli import main
from torch_tb_profiler.loading.ingest import dask as ingest_dask
from torch_tb_profiler.loading.opening import open_file as opening

RANKS = 8


@pytest.fixture(name="logs")
def run_with_a_broken_rank(tmp_path: Path, samples: Path) -> Path:
    folder = tmp_path / "logs"
    shutil.copytree(samples / "dlrm_8_ranks", folder)
    return folder


def ingest(logs: Path, cluster: Cluster, cache: Path) -> int:
    return main(["ingest", str(logs), "--scheduler", cluster.address, "--cache-dir", str(cache)])


def test_the_cluster_parses_and_the_viewer_does_not(
    logs: Path,
    cluster: Cluster,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = tmp_path / "cache"
    (logs / "broken.1.pt.trace.json").write_text("not json")
    assert ingest(logs, cluster, cache) == 3
    out, err = capfd.readouterr()
    assert f"{RANKS} of {RANKS + 1} traces are ready, 1 failed" in out
    assert "broken.1.pt.trace.json" in err
    (logs / "broken.1.pt.trace.json").unlink()
    assert ingest(logs, cluster, cache) == 0
    assert f"{RANKS} of them were cached before; 0 MB parsed" in capfd.readouterr().out

    whole = _distributed(logs, "--no-cache", capfd)
    monkeypatch.setattr(opening, "import_source", None)  # whoever parses now fails
    assert _distributed(logs, f"--cache-dir={cache}", capfd) == whole


def _distributed(logs: Path, cache: str, capfd: pytest.CaptureFixture[str]) -> object:
    assert main(["report", str(logs), "--view=distributed", "--format=json", cache]) == 0
    return json.loads(capfd.readouterr().out)


def test_a_worker_killed_on_the_way_loses_no_rank(
    tmp_path: Path, cluster: Cluster, samples: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    logs.mkdir()
    for sample in (samples / "dlrm_8_ranks").glob("*.json*"):
        own = shutil.copy(sample, tmp_path)  # a link to the sample itself would change its state
        suffix = "".join(sample.suffixes[-4:])
        for number in range(8):
            os.link(own, logs / f"w{number}-{sample.name.split('.')[0]}{suffix}")
    count = len(list(logs.iterdir()))
    killer = threading.Thread(target=_kill_when_half, args=(cluster, cache, count))
    killer.start()
    code = ingest(logs, cluster, cache)
    killer.join()
    out, err = capfd.readouterr()
    assert code == 0, out + err
    assert f"{count} of {count} traces are ready" in out
    assert cluster.workers[0].wait(10) == -9


def _kill_when_half(cluster: Cluster, cache: Path, count: int) -> None:
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        if len(list(cache.glob("entries/*/*"))) > count / 2:  # two entries each
            break
        time.sleep(0.01)
    cluster.kill_a_worker()


def test_a_killed_scheduler_is_told_and_what_was_kept_stays(
    tmp_path: Path,
    cluster: Cluster,
    samples: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingest_dask, "SCHEDULER_LOST_S", 1.0)
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    logs.mkdir()
    for number in range(24):
        for sample in (samples / "dlrm_8_ranks").glob("*.json*"):
            shutil.copy(sample, logs / f"w{number}-{sample.name}")
    count = len(list(logs.iterdir()))
    killer = threading.Thread(target=_kill_scheduler_after, args=(cluster, cache, 8))
    killer.start()
    code = ingest(logs, cluster, cache)
    killer.join()
    out, err = capfd.readouterr()
    assert code == 3, out + err
    assert "the scheduler no longer responds" in err
    assert "Traceback" not in err
    kept = len(list(cache.glob("entries/*/*")))
    assert 8 <= kept < 2 * count


def _kill_scheduler_after(cluster: Cluster, cache: Path, entries: int) -> None:
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s and len(list(cache.glob("entries/*/*"))) < entries:
        time.sleep(0.01)
    cluster.scheduler.kill()


def test_no_scheduler(
    logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(ingest_dask, "CONNECT_S", 0.5)
    assert main(["ingest", str(logs), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler at tcp://127.0.0.1:9" in capsys.readouterr().err
    assert main(["ingest", str(logs), "--scheduler", "what://is this"]) == 2
    assert "what://is this" in capsys.readouterr().err


def test_no_dask(
    logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(ingest_dask, "import_module", absent)
    assert main(["ingest", str(logs), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "pip install 'torch-tb-profiler[dask]'" in capsys.readouterr().err
