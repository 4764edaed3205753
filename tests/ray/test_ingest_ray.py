"""Cases: the workers of a real Ray parse a run into the shared cache, and its view of ranks parses
nothing then; a broken rank is named and the others are there; a worker that is killed fails its
own file only; no cluster, and no Ray, are told with the next step."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from torch_tb_profiler.cli import main
from torch_tb_profiler.knowledge.user_rules import NO_RULES
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.ingest import ray as ingest_ray
from torch_tb_profiler.loading.ingest.job import IngestResult, Job, ingest_file
from torch_tb_profiler.loading.ingest.run import ingest_all, is_visible, on_executor
from torch_tb_profiler.loading.opening import open_file as opening
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.discovery import SpanFile

RANKS = 8


@pytest.fixture(name="logs")
def run_of_eight_ranks(tmp_path: Path, samples: Path) -> Path:
    folder = tmp_path / "logs"
    shutil.copytree(samples / "dlrm_8_ranks", folder)
    return folder


def test_ray_parses_and_the_viewer_does_not(
    ray: Any,
    logs: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = CacheFolder(tmp_path / "cache")
    (logs / "broken.1.pt.trace.json").write_text("not json")
    files = Catalog([TraceRoot(str(logs))], cache=None).contents().files()
    submit = on_executor(ingest_ray.RayExecutor(ray), cache, NO_RULES)
    results = {file.location.name: result for file, result in ingest_all(files, submit)}
    assert len(results) == RANKS + 1
    failed = [name for name, result in results.items() if result.problem is not None]
    assert failed == ["broken.1.pt.trace.json"]
    visible = [file.location.name for file in files if is_visible(file, cache, NO_RULES)]
    assert sorted([*visible, *failed]) == sorted(results)
    (logs / "broken.1.pt.trace.json").unlink()
    whole = _ranks(logs, "--no-cache", capfd)
    monkeypatch.setattr(opening, "import_source", None)  # whoever parses now fails
    assert _ranks(logs, f"--cache-dir={cache.root}", capfd) == whole


def _ranks(logs: Path, cache: str, capfd: pytest.CaptureFixture[str]) -> object:
    assert main(["report", str(logs), "--view=ranks", "--format=json", cache]) == 0
    return json.loads(capfd.readouterr().out)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_fails_its_file_only(
    ray: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_ray, "MAX_RETRIES", 0)
    cache = CacheFolder(tmp_path / "cache")
    files = Catalog([TraceRoot(str(logs))], cache=None).contents().files()
    executor = ingest_ray.RayExecutor(ray)

    def submit(file: SpanFile) -> Future[IngestResult]:
        if file is files[0]:
            return executor.submit(cast("Callable[[], IngestResult]", _die))
        return executor.submit(ingest_file, Job(file.location, file.state, cache))

    results = list(ingest_all(files, submit))
    failed = {file.worker: result.problem for file, result in results if result.problem}
    assert [*failed] == [files[0].worker]
    assert failed[files[0].worker].code == "worker_died"
    assert sum(is_visible(file, cache, NO_RULES) for file in files) == RANKS - 1


def test_the_command_starts_a_ray_where_there_is_none(
    logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it asks Ray for, in order, without starting another one."""

    class Ray:
        asked: ClassVar[list[str]] = []

        def init(self, address: str, **options: object) -> None:
            self.asked.append(address)
            if address == "auto":
                raise ConnectionError
            assert options["_node_ip_address"] == "127.0.0.1"

        def remote(self, **_options: object) -> Any:
            return lambda function: SimpleNamespace(remote=lambda *given: Done(function, given))

        def shutdown(self) -> None:
            self.asked.append("end")

    class Done:
        def __init__(self, function: Callable[..., object], given: Any) -> None:
            self._future: Future[object] = Future()
            self._future.set_result(function(*given))

        def future(self) -> Future[object]:
            return self._future

    monkeypatch.setattr(ingest_ray, "import_module", lambda _name: Ray())
    code = main(["ingest", str(logs), "--scheduler", "ray", "--cache-dir", str(tmp_path / "cache")])
    assert code == 0
    assert f"{RANKS} of {RANKS} traces are ready" in capfd.readouterr().out
    assert Ray.asked == ["auto", "local", "end"]


def test_no_cluster(
    logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_options: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(ingest_ray, "import_module", lambda _name: SimpleNamespace(init=refuse))
    assert main(["ingest", str(logs), "--scheduler", "ray://127.0.0.1:9"]) == 2
    err = capsys.readouterr().err
    assert "no Ray cluster at ray://127.0.0.1:9" in err
    assert "ray start --head" in err


def test_no_ray(
    logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(ingest_ray, "import_module", absent)
    assert main(["ingest", str(logs), "--scheduler", "ray"]) == 2
    assert "pip install 'torch-tb-profiler[ray]'" in capsys.readouterr().err
