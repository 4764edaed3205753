"""Cases, against real sockets: an endpoint that says nothing, stops after the headers or in the
body, or trickles is given up within the limit by every store, for a listing, a size and a read; it
is told with place, cause and next step; one that is back is read; a cache there costs one wait.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cloud.emulators import AZURE_ACCOUNT, AZURE_KEY, Emulator
from tests.helpers.discovered import discover
from tests.helpers.stalls import FAULTS, Fault, FaultyEndpoint, faulty_endpoint
from torch_tb_profiler.storage.deadlines import TIMEOUT_VARIABLE
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import (
    FileState,
    file_state,
    open_location,
    read_chunks,
)
from torch_tb_profiler.storage.shared_cache import SharedCacheFolder

pytestmark = pytest.mark.alone

LIMIT_S = 1.0
MOST_S = 60.0
"""Far more than the limit, and far less than what the clients do by themselves."""

URLS = {"s3": "s3://bucket/run", "gs": "gs://bucket/run", "az": "az://bucket/run"}
STANDS_STILL: list[Fault] = [fault for fault in FAULTS if not fault.startswith("drops")]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyEndpoint]:
    monkeypatch.setenv(TIMEOUT_VARIABLE, str(LIMIT_S))
    with faulty_endpoint() as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTTESTTEST")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-tests")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", endpoint.url)
        string = (
            f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
            f"BlobEndpoint={endpoint.url}/{AZURE_ACCOUNT};"
        )
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", string)
        yield endpoint


def read_of(url: str) -> None:
    list(read_chunks(open_location(url), state=FileState(100, "as it was"), chunk_bytes=100))


@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "http"])
@pytest.mark.parametrize(
    ("fault", "question"),
    [("silent", "listing"), ("silent", "state"), ("silent", "read"), ("trickles", "listing")],
)
def test_no_store_is_waited_for_for_ever(
    endpoint: FaultyEndpoint, scheme: str, question: str, fault: Fault
) -> None:
    endpoint.always(fault)
    url = URLS.get(scheme, f"{endpoint.url}/run")
    questions: dict[str, Callable[[], object]] = {
        "listing": lambda: discover(open_location(url)),
        "state": lambda: file_state(open_location(url)),
        "read": lambda: read_of(url),
    }
    started_s = time.monotonic()
    with pytest.raises(StorageError) as caught:
        questions[question]()
    assert time.monotonic() - started_s < MOST_S
    assert caught.value.code == "unreachable"
    assert url in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_a_client_that_is_given_up_says_nothing(endpoint: FaultyEndpoint, scheme: str) -> None:
    endpoint.always("silent")
    command = [sys.executable, "-m", "torch_tb_profiler", "report", URLS[scheme], "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    error, hint = done.stderr.splitlines()
    assert error.endswith("cannot be read: no answer within 1 s.")
    assert TIMEOUT_VARIABLE in hint


def test_a_server_that_is_not_there_is_no_missing_file() -> None:
    pytest.importorskip("aiohttp")
    with pytest.raises(StorageError) as caught:
        file_state(open_location("http://127.0.0.1:9/run"))
    assert caught.value.code == "unreachable"


def test_what_is_told_of_a_silent_endpoint(endpoint: FaultyEndpoint) -> None:
    endpoint.always("trickles")
    with pytest.raises(StorageError) as caught:
        discover(open_location("s3://bucket/run"))
    assert caught.value.message == "s3://bucket/run cannot be read: no answer within 1 s."
    assert TIMEOUT_VARIABLE in str(caught.value.hint)


@pytest.mark.parametrize("fault", STANDS_STILL)
def test_a_range_that_stands_still_is_fetched_again(
    s3: Emulator, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    s3.put({"stands": b"x" * 300})
    monkeypatch.setenv(TIMEOUT_VARIABLE, str(3 * LIMIT_S))
    with faulty_endpoint(port_of(s3)) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint.url)
        location = open_location(s3.url("stands"))
        state = file_state(location)
        endpoint.forget()
        endpoint.plan = lambda number: fault if number == 1 else None
        if fault.startswith("trickles"):
            with pytest.raises(StorageError):
                list(read_chunks(location, 100, state))
        else:
            assert b"".join(read_chunks(location, 100, state)) == b"x" * 300


def test_an_endpoint_that_is_back_is_listed(s3: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.put({"back/w.pt.trace.json": b"{}"})
    monkeypatch.setenv(TIMEOUT_VARIABLE, str(LIMIT_S))
    with faulty_endpoint(port_of(s3)) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint.url)
        place = open_location(s3.url("back"))
        endpoint.always("silent")
        with pytest.raises(StorageError):
            discover(place)
        endpoint.always(None)
        assert len(discover(place).files) == 1


def test_a_long_listing_may_take_longer_than_one_answer(
    s3: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.put({f"long/r{number}/w.pt.trace.json": b"{}" for number in range(6)})
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "1")  # six pages
    monkeypatch.setenv(TIMEOUT_VARIABLE, "3")
    with faulty_endpoint(port_of(s3)) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint.url)
        endpoint.delay_s = 0.7
        started_s = time.monotonic()
        assert len(discover(open_location(s3.url("long"))).files) == 6
        assert time.monotonic() - started_s > 3


def port_of(store: Emulator) -> int:
    return int(store.environment["AWS_ENDPOINT_URL"].rpartition(":")[2])


def test_a_cache_in_a_silent_bucket_costs_one_wait_for_many_entries(
    endpoint: FaultyEndpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.always("silent")
    cache = SharedCacheFolder(open_location("s3://bucket/cache"), tmp_path)
    assert cache.find("0" * 40) is None
    asked = len(endpoint.requests)
    for number in range(1, 10):
        assert cache.store(f"{number:040}", lambda folder: (folder / "data").write_bytes(b"x"))
        assert not cache.share(f"{number:040}")
    assert len(endpoint.requests) == asked
    assert len([record for record in caplog.records if "shared" in record.message]) == 1
