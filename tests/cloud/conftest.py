"""The stores as fixtures: each starts once; the environment leads to the one a test asks for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import fsspec
import pytest

from tests.cloud import emulators
from tests.cloud.emulators import BUCKET, Emulator


@pytest.fixture(autouse=True)
def _clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No credentials or endpoints of the developer's own, and no client left from another test."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "STORAGE_EMULATOR", "GCSFS")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("TORCH_TB_PROFILER_CACHE_DIR", str(tmp_path / "cache"))
    yield
    for protocol in ("s3", "gs", "az", "http"):
        with contextlib.suppress(ImportError):
            fsspec.get_filesystem_class(protocol).clear_instance_cache()
    clients = (
        ("s3_client", "S3Client"),
        ("azure_client", "AzureClient"),
        ("google_client", "GoogleClient"),
    )
    for module, name in clients:
        with contextlib.suppress(ImportError):
            client = getattr(import_module(f"torch_tb_profiler.storage.{module}"), name)
            client.clear_instance_cache()


def _started(store: Emulator) -> Emulator:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        store.filesystem.mkdir(BUCKET)
    return store


@pytest.fixture(scope="session")
def _s3_server() -> Iterator[Emulator]:
    pytest.importorskip("s3fs", reason="pip install '.[cloud-test]'")
    with emulators.s3() as store:
        yield _started(store)


@pytest.fixture(scope="session")
def _gs_server() -> Iterator[Emulator]:
    pytest.importorskip("gcsfs", reason="pip install '.[cloud-test]'")
    with emulators.gs() as store:
        yield _started(store)


@pytest.fixture(scope="session")
def _az_server() -> Iterator[Emulator]:
    pytest.importorskip("adlfs", reason="pip install '.[cloud-test]'")
    with emulators.az() as store:
        yield _started(store)


def _chosen(name: str, request: pytest.FixtureRequest, patch: pytest.MonkeyPatch) -> Emulator:
    store: Emulator = request.getfixturevalue(f"_{name}_server")
    for variable, value in store.environment.items():
        patch.setenv(variable, value)
    store.faults.clear()
    store.forget()
    return store


@pytest.fixture(params=["s3", "gs", "az"])
def store(
    request: pytest.FixtureRequest, _clean_environment: None, monkeypatch: pytest.MonkeyPatch
) -> Emulator:
    """Each store in turn."""
    return _chosen(request.param, request, monkeypatch)


@pytest.fixture
def s3(
    request: pytest.FixtureRequest, _clean_environment: None, monkeypatch: pytest.MonkeyPatch
) -> Emulator:
    """S3 alone, for what is the same in all of them."""
    return _chosen("s3", request, monkeypatch)


@pytest.fixture
def az(
    request: pytest.FixtureRequest, _clean_environment: None, monkeypatch: pytest.MonkeyPatch
) -> Emulator:
    """Azure alone."""
    return _chosen("az", request, monkeypatch)
