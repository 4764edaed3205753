"""Cases: TensorBoard loads the plugin, lists its tab, serves its routes and pages without security
warnings; an empty or missing logdir costs nothing; ``--logdir_spec``; a real process.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tensorboard.backend import application, security_validator
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from tests.helpers.http import interrupt
from torch_tb_profiler.loading import roots
from torch_tb_profiler.loading.catalog import Catalog
from torch_tb_profiler.plugin import TorchProfilerPlugin
from torch_tb_profiler.server import static_files
from torch_tb_profiler.storage.discovery import Discovery

Writer = Callable[..., Path]
PREFIX = "/data/plugin/pytorch_profiler"
START_S = 60


def context(logdir: str, spec: str | None = None) -> base_plugin.TBContext:
    flags = SimpleNamespace(logdir="" if spec else logdir, logdir_spec=spec or "")
    return base_plugin.TBContext(logdir=logdir, flags=flags)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def client(tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch) -> Client:
    """TensorBoard's own application with this plugin and its core."""
    write_trace(tmp_path / "logs" / "run" / "w.pt.trace.json", ("aten::mm",))
    pages = tmp_path / "static"
    (pages / "assets").mkdir(parents=True)
    for name in ("index.html", "index.js", "assets/app.js"):
        (pages / name).write_text(f"/* {name} */")
    monkeypatch.setattr(static_files, "STATIC_FOLDER", pages)
    static_files._files.cache_clear()
    plugin = TorchProfilerPlugin(context(str(tmp_path / "logs")))
    app = application.TensorBoardWSGI([plugin], experimental_plugins=())
    return Client(security_validator.SecurityValidatorMiddleware(app))


def get_json(client: Client, url: str) -> Any:
    for _ in range(100):
        response = client.get(url)
        if response.status_code != 202:
            break
        time.sleep(0.02)
    assert response.status_code == 200, response.text
    return json.loads(response.data)


def test_the_tab_is_listed(client: Client) -> None:
    listing = get_json(client, "/data/plugins_listing")["pytorch_profiler"]
    assert listing["enabled"] is True
    assert listing["tab_name"] == "PyTorch Profiler"
    assert listing["loading_mechanism"]["type"] == "IFRAME"
    assert listing["loading_mechanism"]["module_path"].endswith(f"{PREFIX}/index.js")


def test_the_entry_page_imports_our_module(client: Client) -> None:
    entry = client.get("/data/plugin_entry.html?name=pytorch_profiler").text
    assert 'import("./index.js")' in entry
    base = re.search(r'<base href="([^"]+)"', entry)
    assert base is not None
    assert client.get(f"/data/{base[1]}index.js").status_code == 200


def test_routes_and_pages_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    unmet_claims: list[str] = []
    monkeypatch.setattr(security_validator, "_maybe_raise_value_error", unmet_claims.append)
    assert get_json(client, f"{PREFIX}/about")["face"] == "tensorboard"
    runs = get_json(client, f"{PREFIX}/runs")["runs"]
    assert [run["name"] for run in runs] == ["run"]
    views = get_json(client, f"{PREFIX}/views?run=run")["views"]
    assert isinstance(views, list)
    assert get_json(client, f"{PREFIX}/slice/0?run=run")["slice"]["name"] == "aten::mm"
    assert client.get(f"{PREFIX}/download?run=run").status_code == 200
    assert client.get(f"{PREFIX}/index.html").mimetype == "text/html"
    assert client.get(f"{PREFIX}/assets/app.js").mimetype == "text/javascript"
    assert client.get(f"{PREFIX}/assets/../../secret").status_code == 404
    assert client.get(f"{PREFIX}/view/nonsense?run=run").status_code == 404
    assert unmet_claims == []


def test_an_empty_or_missing_logdir_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for logdir in (str(tmp_path / "empty"), str(tmp_path / "missing"), ""):
        plugin = TorchProfilerPlugin(context(logdir))
        assert plugin.is_active() is False


def test_traces_that_appear_later_make_it_active(tmp_path: Path, write_trace: Writer) -> None:
    plugin = TorchProfilerPlugin(context(str(tmp_path / "logs")))
    plugin._catalog = Catalog(plugin._catalog.roots, cache=None, rescan_s=0.0)
    assert plugin.is_active() is False
    write_trace(tmp_path / "logs" / "run" / "w.pt.trace.json")
    for _ in range(100):
        if plugin.is_active():
            break
        time.sleep(0.02)
    assert plugin.is_active() is True


def test_rules_with_a_mistake_are_a_warning_and_a_note_on_the_pages(
    tmp_path: Path,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[kernel]]\nmatch = "a"\ncategory = ""\n')
    monkeypatch.setenv("TORCH_TB_PROFILER_RULES", str(rules))
    plugin = TorchProfilerPlugin(context(str(tmp_path / "logs")))
    assert f"{rules}, line 3: the category is empty." in caplog.text
    app = application.TensorBoardWSGI([plugin], experimental_plugins=())
    answer = get_json(Client(app), f"{PREFIX}/view/overview?run=run")
    (note,) = (note for note in answer["notes"] if note["code"] == "rules_not_applied")
    assert "line 3: the category is empty." in note["text"]


def test_a_slow_logdir_never_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, ended = threading.Event(), threading.Event()

    def slow(*_: object) -> Discovery:
        may_end.wait(30)
        ended.set()
        return Discovery()

    monkeypatch.setattr(roots, "discover", slow)
    plugin = TorchProfilerPlugin(context(str(tmp_path)))
    assert [plugin.is_active() for _ in range(3)] == [False] * 3
    assert not ended.is_set()
    may_end.set()


@pytest.mark.parametrize(
    ("spec", "listed"),
    [
        ("a:/x/y,b:/z", [("/x/y", "a"), ("/z", "b")]),
        ("/x/y", [("/x/y", None)]),
        ("/x:y", [("/x:y", None)]),
        ("s3://bucket/x,mine:s3://other", [("s3://bucket/x", None), ("s3://other", "mine")]),
        ("relative/x", [("relative/x", None)]),
    ],
)
def test_logdir_spec(spec: str, listed: list[tuple[str, str | None]]) -> None:
    plugin = TorchProfilerPlugin(context(spec, spec=spec))
    assert [(place.url, place.label) for place in plugin._catalog.roots] == listed


def test_a_real_tensorboard(tmp_path: Path, write_trace: Writer) -> None:
    write_trace(tmp_path / "logs" / "run" / "w.pt.trace.json", ("aten::mm",))
    arguments = ["--logdir", str(tmp_path / "logs"), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tensorboard.main", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        url = _printed_url(process)
        with urllib.request.urlopen(f"{url}data/plugins_listing", timeout=START_S) as response:
            assert json.load(response)["pytorch_profiler"]["enabled"] is True
        with urllib.request.urlopen(f"{url}{PREFIX[1:]}/runs", timeout=START_S) as response:
            assert [run["name"] for run in json.load(response)["runs"]] == ["run"]
    finally:
        interrupt(process)


def _printed_url(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        match = re.search(r"http://\S+", line)
        if match and "Press CTRL+C" in line:
            return match[0].replace("localhost", "127.0.0.1")
    raise AssertionError("TensorBoard did not start")


def test_the_plugin_is_registered() -> None:
    entries = importlib.metadata.entry_points(group="tensorboard_plugins")
    ours = [entry for entry in entries if entry.value.startswith("torch_tb_profiler")]
    assert [entry.load() for entry in ours] == [TorchProfilerPlugin]
    assert TorchProfilerPlugin.plugin_name == "pytorch_profiler"
