"""Real servers of each store's protocol on loopback, and what was asked of them.

S3 is moto's server, Google Cloud Storage an emulator from PyPI, Azure Blob Storage Azurite from
npm. Nothing of this package or its clients is replaced.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import logging
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import fsspec
import pytest
from werkzeug.serving import make_server

BUCKET = "traces"
START_S = 30.0
AZURITE = "azurite@3.35.0"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = base64.b64encode(
    b"sixty-four bytes that are no secret: the account is a test's own"
).decode()
ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass
class Emulator:
    """A store with the bucket :data:`BUCKET`.

    Attributes:
        scheme: Of the URLs it is reached by.
        environment: Variables that lead a client to it, as a user sets them.
        requests: ``"GET /path?query"`` of every request since :meth:`forget`.
        signatures: The Authorization header of every request (S3 only), "" without one.
        faults: Status codes to answer the next requests with (S3 only).
        late_log_url: Where to ask for anything, when requests are written down after the answer.
    """

    scheme: str
    environment: dict[str, str]
    requests: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    late_log_url: str | None = None

    def url(self, path: str = "") -> str:
        """The URL of an object or prefix of the bucket."""
        return f"{self.scheme}://{BUCKET}/{path}".rstrip("/")

    @cached_property
    def filesystem(self) -> Any:
        """A plain client, made as any other program would; first asked for in the environment."""
        options: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
        if self.scheme == "gs":  # the other class asks the emulator by gRPC, for a minute
            return import_module("gcsfs.core").GCSFileSystem(token="anon", **options)
        return fsspec.filesystem(self.scheme, **options)

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write objects, the bucket's name left out."""
        for path, content in files.items():
            self.filesystem.pipe_file(f"{BUCKET}/{path}", content)

    def remove(self, path: str) -> None:
        """Delete an object."""
        self.filesystem.rm_file(f"{BUCKET}/{path}")

    def forget(self) -> None:
        """Begin to count requests anew."""
        self._catch_up()
        self.requests.clear()
        self.signatures.clear()

    def listings(self) -> list[str]:
        """The requests that list objects."""
        self._catch_up()
        kinds = ("list-type=2", "comp=list", "prefix=")
        return [line for line in self.requests if any(kind in line for kind in kinds)]

    def downloads(self) -> list[str]:
        """The requests for the bytes of objects."""
        listed = self.listings()
        return [
            line
            for line in self.requests
            if line.startswith("GET ")
            and line not in listed
            and "restype=container" not in line
            and ("alt=media" in line or self.scheme != "gs")
        ]

    def _catch_up(self) -> None:
        """Wait for the log of a server that writes a request down after it is answered.

        It answers in one thread, so that what it wrote before a request of ours is complete.
        """
        if self.late_log_url is None:
            return
        mark = f"GET /mark-{uuid.uuid4()}"
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(f"{self.late_log_url}{mark[4:]}", timeout=START_S).close()
        until_s = time.monotonic() + START_S
        while mark not in self.requests:
            assert time.monotonic() < until_s, "the server does not log what it is asked"
            time.sleep(0.005)
        self.requests.remove(mark)


def free_port() -> int:
    """A TCP port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextlib.contextmanager
def s3() -> Iterator[Emulator]:
    """S3 by moto, behind a listener that writes down requests and gives faults on demand."""
    moto = pytest.importorskip("moto.server", reason="pip install '.[cloud-test]'")
    backend = moto.DomainDispatcherApplication(moto.create_backend_app)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)

    def application(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        query = f"?{environ['QUERY_STRING']}" if environ["QUERY_STRING"] else ""
        store.requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}{query}")
        store.signatures.append(environ.get("HTTP_AUTHORIZATION", ""))
        if store.faults:
            start(f"{store.faults.pop(0)} Fault", [("Content-Length", "0")])
            return [b""]
        return backend(environ, start)  # type: ignore[no-any-return]  # moto has no types

    server = make_server("127.0.0.1", 0, application, threaded=True)
    store = Emulator(
        "s3",
        {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.port}",
            "AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST",
            "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests",
            "AWS_DEFAULT_REGION": "us-east-1",
        },
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield store
    finally:
        server.shutdown()


@contextlib.contextmanager
def gs() -> Iterator[Emulator]:
    """Google Cloud Storage."""
    emulator = pytest.importorskip("gcp_storage_emulator.server", reason="as moto")
    port = free_port()
    server = emulator.create_server("127.0.0.1", port, in_memory=True)
    store = Emulator("gs", {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}"})

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            line = record.getMessage()
            if line.startswith('"') and " HTTP/" in line:
                store.requests.append(line[1:].partition(" HTTP/")[0])

    log = logging.getLogger("gcp_storage_emulator")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(Recorder())
    server.start()
    try:
        yield store
    finally:
        server.stop()


@contextlib.contextmanager
def az() -> Iterator[Emulator]:
    """Azure Blob Storage by Azurite, which is installed into ``.cache/`` when it is missing."""
    command = _installed_azurite()
    port = free_port()
    environment = {
        "AZURE_STORAGE_CONNECTION_STRING": (
            f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
            f"BlobEndpoint=http://127.0.0.1:{port}/{AZURE_ACCOUNT};"
        )
    }
    url = f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}"
    store = Emulator("az", environment, late_log_url=url)
    process = subprocess.Popen(
        [
            *(str(command), "--blobPort", str(port), "--inMemoryPersistence"),
            *("--skipApiVersionCheck", "--disableTelemetry"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**_path_only(), "AZURITE_ACCOUNTS": f"{AZURE_ACCOUNT}:{AZURE_KEY}"},
    )
    assert process.stdout is not None
    started = threading.Event()

    def follow(lines: Iterable[str]) -> None:
        for line in lines:
            if "successfully listens" in line:
                started.set()
            elif '"' in line and " HTTP/" in line:
                request = line.split('"')[1].partition(" HTTP/")[0]
                store.requests.append(request.replace(f"/{AZURE_ACCOUNT}", "", 1))

    threading.Thread(target=follow, args=(process.stdout,), daemon=True).start()
    try:
        assert started.wait(START_S), "Azurite did not start"
        yield store
    finally:
        process.terminate()
        process.wait(10)


def _path_only() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}


def _installed_azurite() -> Path:
    """The command of Azurite. Of several test processes one installs it, and the others wait: half
    of it is no server."""
    folder = ROOT / ".cache" / "azurite"
    command = folder / "node_modules" / ".bin" / "azurite-blob"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "azurite.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not command.exists():
            _install_azurite(folder)
    return command


def _install_azurite(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("Azurite needs npm (Node 20)")
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted attempt left
    folder.mkdir()
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), AZURITE],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"Azurite cannot be installed: {done.stderr.strip()[-300:]}")


def get_json(url: str, timeout_s: float = START_S) -> Any:
    """The JSON at ``url``, asked again while the answer is 202."""
    until_s = time.monotonic() + timeout_s
    while True:
        with urllib.request.urlopen(url, timeout=timeout_s) as response:
            if response.status != 202 or time.monotonic() > until_s:
                return json.load(response)
        time.sleep(0.1)
