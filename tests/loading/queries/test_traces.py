"""Cases: a page that needs many workers is answered however small the memory; the first traces of a
request are not closed for its later ones; values derived by the timeline are counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import Client, TestResponse

from tests.helpers.waiting import wait_until
from torch_tb_profiler.loading.catalog import Catalog, TraceRoot
from torch_tb_profiler.loading.store.trace_store import TraceStore
from torch_tb_profiler.server.app import standalone_app
from torch_tb_profiler.server.site import Site
from torch_tb_profiler.storage.cache_folder import CacheFolder

Answer = Callable[[str], TestResponse]


def answers_of(catalog: Catalog) -> Answer:
    """Asks as pages do: again and again until the answer is there."""
    client = Client(standalone_app(Site(catalog, "standalone")))

    def answer(path: str) -> TestResponse:
        last: list[TestResponse] = []

        def is_there() -> bool:
            last[:] = [client.get(f"/api/{path}", headers={"Host": "localhost"})]
            return last[0].status_code != 202

        wait_until(is_there)
        return last[0]

    return answer


def catalog_of(folder: Path, cache: CacheFolder, limit_bytes: int) -> Catalog:
    store = TraceStore(cache=cache, memory_limit_bytes=limit_bytes)
    return Catalog([TraceRoot(str(folder))], cache=cache, store=store)


@pytest.mark.parametrize("traces", [100.0, 2.2, 0.5])
def test_peers_are_listed_as_far_as_memory_allows(
    samples: Path, tmp_path: Path, traces: float
) -> None:
    folder, cache = samples / "cpu_ddp4_gloo", CacheFolder(tmp_path / "cache")
    roomy = catalog_of(folder, cache, 1 << 40)
    roomy.store.wait([roomy.file(None, None, None)], None)
    catalog = catalog_of(folder, cache, int(roomy.store.used_bytes * traces))
    answer = answers_of(catalog)
    workers = list(catalog.workers(None, None))
    search = f"timeline/search?worker={workers[0]}&q=gloo:all_reduce"
    hit = answer(search).get_json()["hits"][0]
    for _ in range(2):
        flows = answer(f"timeline/flows?worker={workers[0]}&slice={hit['id']}&peers=1")
        assert flows.status_code == 200
        peers = [flow for flow in flows.get_json()["flows"] if flow["kind"] == "collective"]
        told = {flow["worker"] for flow in peers}
        assert told <= set(workers[1:])
        assert traces < 100 or told == set(workers[1:])
        clocks = answer(f"timeline/clocks?worker={workers[0]}").get_json()["workers"]
        assert clocks[0]["worker"] == workers[0]


@pytest.mark.parametrize(("limit_bytes", "is_counted"), [(1 << 20, True), (1 << 40, False)])
def test_what_the_timeline_derives_is_counted_where_it_may_matter(
    samples: Path, tmp_path: Path, limit_bytes: int, is_counted: bool
) -> None:
    folder = samples / "torch_compile_triton"
    catalog = catalog_of(folder, CacheFolder(tmp_path / "cache"), limit_bytes)
    answer = answers_of(catalog)
    file = catalog.file(None, None, None)
    catalog.store.wait([file], None)
    before = catalog.store.used_bytes
    assert answer("timeline/tracks").status_code == 200
    trace = catalog.store.trace(file)
    assert trace is not None
    assert trace.derived.count > 0
    assert (catalog.store.used_bytes > before) == is_counted
