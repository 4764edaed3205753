"""What a header holds beside the keys we know (a dump of the environment, say) reaches nobody."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from werkzeug.test import Client

from tests.helpers.opening import open_file
from torch_tb_profiler.cli import main
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.open_file import wait_until_cached
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.storage.cache_folder import CacheFolder
from torch_tb_profiler.storage.locations import open_location

SECRET = "s3cr3t-t0ken-of-the-job"
VIEWS = ("overview", "operators", "kernels", "memory", "modules", "distributed")


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A trace with a secret in every place of the header that a user or a launcher can fill."""
    step = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 0, "dur": 90}
    events = [
        {**step, "pid": 1, "tid": 1},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 5, "dur": 50,
         "args": {"External id": 1, "Input Dims": [[2, 2]], "API_KEY": SECRET,
                  "env": {"K": SECRET}}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 9, "dur": 20,
         "args": {"device": 0, "stream": 7, "correlation": 1, "PASSWORD": SECRET}},
    ]  # fmt: skip
    document = {
        "schemaVersion": 1,
        "metadata": {"environment": {"AWS_SECRET_ACCESS_KEY": SECRET}},
        "environ": SECRET,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "user_json": {"deep": [{"token": SECRET}]},
        "deviceProperties": [{"id": 0, "name": "GPU", "note": SECRET}],
        "distributedInfo": {"rank": 0, "world_size": 1, "backend": "nccl", "env": SECRET},
        "traceEvents": events,
        "trailer": SECRET,
    }
    folder = tmp_path / "logs" / "run"
    folder.mkdir(parents=True)
    (folder / "w.pt.trace.json").write_text(json.dumps(document))
    return folder.parent


def test_no_route_but_the_download_of_the_file_answers_with_it(logdir: Path) -> None:
    catalog = Catalog([TraceRoot(str(logdir))], cache=None)
    client = Client(standalone_app(Site(catalog, "standalone")))
    urls = ["/api/about", "/api/runs", "/api/views", "/api/perfetto"]
    urls += [f"/api/slice/{number}" for number in range(3)]
    urls += [f"/api/slice/{number}/arguments" for number in range(3)]
    urls += ["/api/timeline/gaps", "/api/timeline/range", "/api/timeline/namesakes?slice=1"]
    urls += [f"/api/view/{name}" for name in VIEWS]
    urls += ["/api/view/compare?baseline_run=run", "/api/view/operators?format=csv"]
    urls += ["/api/timeline/tracks", "/api/timeline", "/api/timeline/search?q=s3cr3t"]
    urls += ["/api/timeline/names?codes=" + ",".join(map(str, range(100)))]

    for url in urls:
        response = client.get(url)
        while response.status_code == 202:
            time.sleep(0.02)
            response = client.get(url)
        assert SECRET.encode() not in response.data, url

    assert SECRET in client.get("/api/download").text, "it is the file itself"


@pytest.mark.parametrize("form", ["table", "json", "csv", "md"])
def test_no_report_has_it(logdir: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = logdir.parent / "report"
    options = ["--view", "all", "--format", form, "--no-cache"]
    main(["report", str(logdir), *options, "--output", str(folder)])

    written = [path.read_text() for path in folder.rglob("*") if path.is_file()]
    printed = capsys.readouterr()
    assert written
    assert SECRET not in "".join([*written, printed.out, printed.err])


def test_the_cache_does_not_keep_it(logdir: Path, tmp_path: Path) -> None:
    location = open_location(str(logdir / "run" / "w.pt.trace.json"))
    open_file(location, cache=CacheFolder(tmp_path / "cache"))
    wait_until_cached()

    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]
