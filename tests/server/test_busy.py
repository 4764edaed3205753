"""Cases, standalone and under TensorBoard's prefix: more requests than are answered at once, and
than may wait; what is never queued; identical requests; one parse per file; streams, also to
stalled clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from werkzeug.serving import make_server
from werkzeug.test import Client

from tests.helpers.http import get
from tests.helpers.sockets import all_bytes, connected
from tests.helpers.views import use_views
from torch_tb_profiler.analysis.selection import Selection
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.opening.parsing import Parser
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.server.app import App
from torch_tb_profiler.server.limits import AnswerLimits
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.trace.model import Trace
from torch_tb_profiler.views.schema import Column, Table, TableSpec, View
from torch_tb_profiler.views.spec import ViewSpec

Writer = Callable[..., Path]

PATIENCE_S = 20.0
COUNTS = TableSpec("counts", "Counts", "One.", (Column("n", "N", "number", None, "How many."),))
FACES = ("/api/", "/data/plugin/pytorch_profiler/")


class HeavyView:
    """A view that ends on command, and counts its calls."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.lock = threading.Lock()
        self.times = 0
        self.at_once = 0
        self.most_at_once = 0

    def __call__(self, _trace: Trace, _selection: Selection) -> View:
        with self.lock:
            self.times += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.may_end.wait(PATIENCE_S)
        with self.lock:
            self.at_once -= 1
        frame = pl.DataFrame({"n": [self.times]}, schema=COUNTS.polars_schema())
        return View(tables={"counts": Table(COUNTS, frame)})


class CountingParser(Parser):
    """Counts the files it opens."""

    def __init__(self) -> None:
        super().__init__(1, parses_in_process=False)
        self.opened: list[str] = []

    def open(self, *arguments: Any, **options: Any) -> Any:
        self.opened.append(arguments[0].name)
        return super().open(*arguments, **options)


class Scene:
    """An app with few slots, its heavy view and its parser."""

    def __init__(self, logdir: Path, prefix: str, limits: AnswerLimits) -> None:
        self.view = HeavyView()
        self.parser = CountingParser()
        store = TraceStore(cache=None, parser=self.parser)
        catalog = Catalog([TraceRoot(str(logdir))], cache=None, store=store)
        self.prefix = prefix
        self.page_prefix = prefix.removesuffix("api/")
        self.app = App(
            Site(catalog, "standalone"),
            api_prefix=prefix,
            page_prefix=self.page_prefix,
            allowed_hosts=None,
            limits=limits,
        )

    def get(self, url: str) -> Any:
        return get(Client(self.app), self.prefix + url, buffered=True)


@pytest.fixture(params=FACES)
def scene(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    write_trace: Writer,
    monkeypatch: pytest.MonkeyPatch,
) -> Scene:
    write_trace(tmp_path / "run" / "w.pt.trace.json")
    limits = AnswerLimits(computing=2, streams=1, waiting=3, wait_s=PATIENCE_S, retry_after_s=9)
    scene = Scene(tmp_path, request.param, limits)
    use_views(monkeypatch, ViewSpec("heavy", "Heavy", "How?", "trace", (COUNTS,), scene.view))
    scene.get("views")  # the trace is open
    return scene


def until(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.005)


def test_rejected_requests_get_a_retry_time(scene: Scene) -> None:
    with ThreadPoolExecutor(5) as pool:
        urls = [f"view/heavy?start_us=0&end_us={number + 100}" for number in range(5)]
        answers = [pool.submit(scene.get, url) for url in urls]
        until(lambda: scene.view.at_once == 2 and scene.app._computing._room._free == 0)
        refused = Client(scene.app).get(f"{scene.prefix}view/heavy")
        assert refused.status_code == 503
        assert refused.headers["Retry-After"] == "9"
        assert refused.json is not None
        assert refused.json["error"]["code"] == "busy"
        assert "9 s" in refused.json["error"]["hint"]
        for path in (f"{scene.prefix}about", f"{scene.page_prefix}index.html"):  # never queue
            assert Client(scene.app).get(path).status_code == 200
        scene.view.may_end.set()
        assert [answer.result().status_code for answer in answers] == [200] * 5
    assert scene.view.most_at_once == 2
    assert scene.get("view/heavy").status_code == 200


def test_equal_requests_of_many_clients_are_computed_once(scene: Scene) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(scene.get, "view/heavy") for _ in range(4)]
        until(lambda: scene.app._computing._room._free == 0)
        scene.view.may_end.set()
        bodies = {answer.result().data for answer in answers}
    assert len(bodies) == 1
    assert scene.view.times == 1


@pytest.mark.parametrize("prefix", FACES)
def test_a_file_is_parsed_once_for_many_clients(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    write_trace(tmp_path / "run" / "w.pt.trace.json", tuple(f"op{i}" for i in range(3000)))
    scene = Scene(tmp_path, prefix, AnswerLimits())
    use_views(monkeypatch, ViewSpec("heavy", "Heavy", "How?", "trace", (COUNTS,), scene.view))
    scene.view.may_end.set()
    barrier = threading.Barrier(60)

    def ask(number: int) -> int:
        barrier.wait(PATIENCE_S)
        status: int = scene.get(f"view/heavy?start_us=0&end_us={number + 100}").status_code
        return status

    with ThreadPoolExecutor(60) as pool:
        assert set(pool.map(ask, range(60))) == {200}
    assert scene.parser.opened == ["w.pt.trace.json"]


def test_a_stream_occupies_its_slot_until_it_is_closed(scene: Scene) -> None:
    client = Client(scene.app)
    first = client.get(f"{scene.prefix}download", buffered=False)
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(scene.get, "perfetto") for _ in range(3)]
        until(lambda: scene.app._computing._room._free == 0)
        assert client.get(f"{scene.prefix}download").status_code == 503
        first.close()
        assert [answer.result().status_code for answer in waiting] == [200] * 3
    assert client.head(f"{scene.prefix}download", buffered=True).status_code == 200
    assert client.get(f"{scene.prefix}download?run=none").status_code == 404
    for _ in range(3):  # read to the end, though never closed
        assert client.get(f"{scene.prefix}download").data


def test_a_stalled_client_loses_its_slot_in_tensorboard(tmp_path: Path) -> None:
    (tmp_path / "w.pt.trace.json").write_bytes(b'{"traceEvents": [' + bytes(64 << 20))
    limits = AnswerLimits(streams=1, piece_s=0.3, wait_s=PATIENCE_S)
    scene = Scene(tmp_path, FACES[1], limits)
    server = make_server("127.0.0.1", 0, scene.app, threaded=True)  # what TensorBoard serves with
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    message = f"GET {scene.prefix}download HTTP/1.0\r\n\r\n".encode()
    try:
        with connected(server.port, message) as stopped:
            assert stopped.recv(1)
            with connected(server.port, message) as client:
                assert len(all_bytes(client)) > 64 << 20
    finally:
        server.shutdown()
        thread.join(PATIENCE_S)
        server.server_close()
