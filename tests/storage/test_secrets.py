"""Cases: signatures, keys, passwords and tokens in the forms of clients and URLs; texts and paths
without any stay unchanged."""

from __future__ import annotations

import pytest

from torch_tb_profiler.storage.secrets import public_url, without_secrets

SECRET = "c2VjcmV0LXZhbHVl"


@pytest.mark.parametrize(
    "text",
    [
        f"https://a.blob.core.windows.net/c?sv=1&sig={SECRET}%3D&se=2",
        f"https://b.s3.amazonaws.com/k?X-Amz-Credential={SECRET}%2Fus&X-Amz-Signature={SECRET}",
        f"AccountName=a;AccountKey={SECRET};EndpointSuffix=core",
        f'{{"access_token": "{SECRET}", "token_type": "Bearer"}}',
        f"Authorization: Bearer {SECRET}",
        f"Authorization: SharedKey account:{SECRET}",
        f"x-amz-security-token: {SECRET}",
        f"cannot reach sftp://user:{SECRET}@host/x",
        f"password='{SECRET}'",
    ],
)
def test_secrets_are_taken_out(text: str) -> None:
    assert SECRET not in without_secrets(text)


def test_values_of_the_environment_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    assert without_secrets("sent wJalrXUtnFEMI to the store") == "sent *** to the store"


@pytest.mark.parametrize(
    "text", ["Unable to locate credentials", "aten::tokenize on /data/secret_run/w.json", "a=b"]
)
def test_other_text_stays(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"https://a.b/c?sig={SECRET}", "https://a.b/c"),
        (f"sftp://user:{SECRET}@host/x", "sftp://user@host/x"),
        ("s3://bucket/what?/x", "s3://bucket/what?/x"),
        ("abfs://c@a.dfs.core.windows.net/x", "abfs://c@a.dfs.core.windows.net/x"),
        ("/data/a?b", "/data/a?b"),
        (r"C:\runs", r"C:\runs"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert public_url(url) == shown
