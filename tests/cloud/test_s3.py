"""Cases that one store can show for all: credentials asked for and not, anonymous access, faults
that pass and faults that stay, what is missing, ranges under way at once, secrets in messages.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cloud.emulators import AZURE_KEY, BUCKET, Emulator
from tests.helpers.discovered import discover
from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.locations import open_location, read_chunks
from torch_tb_profiler.storage.read_ahead import RANGES_AHEAD

Writer = Callable[..., Path]


def refused(url: str) -> StorageError:
    with pytest.raises(StorageError) as caught:
        discover(open_location(url))
    return caught.value


def test_requests_are_signed_with_the_environments_key(s3: Emulator) -> None:
    s3.put({"signed/w.pt.trace.json": b"{}"})
    s3.forget()
    assert len(discover(open_location(s3.url("signed"))).files) == 1
    assert all("AKIATESTTESTTEST" in signature for signature in s3.signatures)


@pytest.mark.parametrize("how", ["no credentials", "asked for"])
def test_public_buckets_open_without_credentials(
    s3: Emulator, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.put({"public/w.pt.trace.json": b"{}", "private/w.pt.trace.json": b"{}"})
    s3.filesystem.chmod(f"{BUCKET}/public/w.pt.trace.json", "public-read")
    if how == "asked for":
        monkeypatch.setenv("TORCH_TB_PROFILER_ANONYMOUS", "1")
    else:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    s3.forget()
    location = open_location(s3.url("public/w.pt.trace.json"))
    assert b"".join(read_chunks(location)) == b"{}"
    assert s3.signatures
    assert set(s3.signatures) == {""}
    with pytest.raises(StorageError) as caught:
        list(read_chunks(open_location(s3.url("private/w.pt.trace.json"))))
    assert caught.value.code == "permission_denied"


def test_an_unknown_profile_is_told(s3: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody-has-this")
    error = refused(s3.url())
    assert "nobody-has-this" in error.message


def test_what_the_key_does_not_allow_is_told_with_what_to_check(s3: Emulator) -> None:
    s3.faults[:] = [403] * 20
    error = refused(s3.url("x"))
    assert error.code == "permission_denied"
    assert s3.url("x") in error.message
    assert "AWS_PROFILE" in str(error.hint)
    assert "secret-of-the-tests" not in f"{error.message}{error.hint}"


def test_a_wrong_azure_key_is_told_and_not_shown(
    az: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = AZURE_KEY[::-1].replace("=", "") + "=="
    string = az.environment["AZURE_STORAGE_CONNECTION_STRING"].replace(AZURE_KEY, wrong)
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", string)
    error = refused(az.url())
    assert error.code == "permission_denied"
    assert "AZURE_STORAGE_CONNECTION_STRING" in str(error.hint)
    assert wrong not in f"{error.message}{error.hint}"


def test_an_azure_account_that_nobody_names(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("adlfs")
    error = refused("az://container/x")
    assert error.code == "unreadable"
    assert "AZURE_STORAGE_ACCOUNT_NAME" in str(error.hint)


def test_a_container_by_its_https_address_with_a_signature(az: Emulator) -> None:
    location = open_location(
        f"https://account.blob.core.windows.net/{BUCKET}/a/b?sv=2024&sig=c2VjcmV0LXNpZ25hdHVyZQ%3D"
    )
    assert location.url == f"https://account.blob.core.windows.net/{BUCKET}/a/b"
    assert location.path == f"{BUCKET}/a/b"
    assert "c2VjcmV0" not in repr(location)


@pytest.mark.parametrize("status", [500, 503])
def test_faults_that_pass_are_tried_again(s3: Emulator, status: int) -> None:
    s3.put({"flaky": b"x" * 1000})
    location = open_location(s3.url("flaky"))
    chunks = read_chunks(location, chunk_bytes=100)
    first = next(chunks)
    s3.faults[:] = [status, status]
    assert first + b"".join(chunks) == b"x" * 1000


def test_an_endpoint_that_nobody_listens_on(s3: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    error = refused(s3.url("x"))
    assert error.code == "unreachable"
    assert "http://127.0.0.1:9" in error.message


def test_several_ranges_are_under_way_before_the_first_is_used(s3: Emulator) -> None:
    s3.put({"wide": b"x" * 100 * 30})
    location = open_location(s3.url("wide"))
    s3.forget()
    chunks = read_chunks(location, chunk_bytes=100)
    next(chunks)
    until_s = time.monotonic() + 10
    while len(s3.downloads()) < RANGES_AHEAD and time.monotonic() < until_s:
        time.sleep(0.005)
    assert RANGES_AHEAD <= len(s3.downloads()) <= RANGES_AHEAD + 1
    chunks.close()  # type: ignore[attr-defined]  # an iterator that is a generator
    assert len(s3.downloads()) <= RANGES_AHEAD + 1


@pytest.mark.parametrize(
    ("url", "package", "extra"),
    [
        ("s3://b/x", "s3fs", "s3"),
        ("gs://b/x", "gcsfs", "gs"),
        ("az://b/x", "adlfs", "blob"),
        ("abfs://c@a.dfs.core.windows.net/x", "adlfs", "blob"),
        ("https://a.blob.core.windows.net/c/x", "adlfs", "blob"),
        ("hdfs://host/x", "pyarrow", "hdfs"),
    ],
)
def test_a_missing_package_says_what_to_install(url: str, package: str, extra: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from torch_tb_profiler.cli import main\n"
        f"sys.exit(main(['report', {url!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert f"pip install 'torch-tb-profiler[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
