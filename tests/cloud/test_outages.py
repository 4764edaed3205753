"""Cases, with a store that stops answering and comes back: its runs and open traces stay, other
places are listed meanwhile, it is asked again soon; routes answer at once, also before anything is
known; an interrupted look of one place is none of the others' business.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from werkzeug.test import Client

from tests.cloud.emulators import Emulator
from tests.helpers.stalls import FaultyEndpoint, faulty_endpoint
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.storage.backoff import MAX_PAUSE_S
from torch_tb_profiler.storage.deadlines import TIMEOUT_VARIABLE

pytestmark = pytest.mark.alone

Writer = Callable[..., Path]
TRACE = "run/w.pt.trace.json"
LIMIT_S = 1.0
SOON_S = 60.0


@pytest.fixture
def endpoint(s3: Emulator, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyEndpoint]:
    port = int(s3.environment["AWS_ENDPOINT_URL"].rpartition(":")[2])
    with faulty_endpoint(port) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint.url)
        monkeypatch.setenv(TIMEOUT_VARIABLE, str(LIMIT_S))
        yield endpoint


@pytest.fixture
def content(tmp_path: Path, write_trace: Writer) -> bytes:
    return write_trace(tmp_path / "made.json", ("aten::mm",)).read_bytes()


def until(holds: Callable[[], object]) -> None:
    until_s = time.monotonic() + SOON_S
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def test_what_a_place_held_stays_until_it_answers_again(
    s3: Emulator, endpoint: FaultyEndpoint, content: bytes
) -> None:
    s3.put({f"stays/{TRACE}": content})
    root = TraceRoot(s3.url("stays"))
    catalog = Catalog([root], cache=None, rescan_s=0.0)
    file = catalog.file("run", None, None)
    catalog.store.request(file)
    catalog.store.wait([file], SOON_S)
    endpoint.always("silent")
    catalog.refresh()
    (outage,) = catalog.outages
    assert outage.root == root
    assert "no answer within" in outage.problem.message
    assert outage.next_try_s - time.monotonic() <= MAX_PAUSE_S
    contents = catalog.contents(0)
    assert list(contents.runs) == ["run"]
    assert contents.problem is None
    assert catalog.store.status(file).state == "ready"
    s3.put({f"stays/new/{TRACE}": content})
    endpoint.always(None)
    until(lambda: "new/run" in catalog.contents(0.05).runs)
    assert catalog.outages == []


def test_other_places_are_listed_while_one_is_waited_for(
    s3: Emulator, endpoint: FaultyEndpoint, tmp_path: Path, write_trace: Writer
) -> None:
    write_trace(tmp_path / "local" / TRACE)
    endpoint.always("silent")
    roots = [TraceRoot(s3.url("none"), "far"), TraceRoot(str(tmp_path / "local"), "near")]
    catalog = Catalog(roots, cache=None)
    until(lambda: "near/run" in catalog.contents(0).runs)
    assert catalog.discovering
    assert list(catalog.contents().runs) == ["near/run"]
    assert [outage.root.label for outage in catalog.outages] == ["far"]


def test_a_folder_that_is_gone_costs_its_own_runs(
    tmp_path: Path, write_trace: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trace(tmp_path / "kept" / TRACE)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError):
        os.getcwd()  # a relative path has no meaning any more
    roots = [TraceRoot("logs", "gone"), TraceRoot(str(tmp_path / "kept"), "kept")]
    contents = Catalog(roots, cache=None).contents()
    assert list(contents.runs) == ["kept/run"]
    assert any("logs" in note for note in contents.notes)


def test_routes_answer_at_once_while_a_place_does_not(
    s3: Emulator, endpoint: FaultyEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, str(SOON_S))
    endpoint.always("silent")
    catalog = Catalog([TraceRoot(s3.url("nothing"))], cache=None)
    client = Client(standalone_app(Site(catalog, "standalone"), allowed_hosts=None))
    assert client.get("/api/runs").json["discovering"] is True  # type: ignore[index]
    for route in ("views", "view/overview", "view/distributed", "slice/1", "download", "perfetto"):
        assert client.get(f"/api/{route}").status_code == 202
    assert catalog.discovering
    endpoint.close()  # from now on nobody listens, which is found out sooner
    catalog.contents()
    runs = client.get("/api/runs").json
    assert runs is not None
    assert runs["discovering"] is False
    assert runs["problem"]["code"] == "unreachable"
    (silent,) = runs["silent_places"]
    assert silent["place"] == s3.url("nothing")
    assert 0 < silent["silent_s"] < SOON_S
    assert 0 <= silent["next_try_s"] <= MAX_PAUSE_S
    assert silent["error"]["hint"]
