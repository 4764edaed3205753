"""Cases: a signature is valid for one key, one entry, one content; a key is read where it is used,
is long, and never shown."""

from __future__ import annotations

import io

import pytest

from torch_tb_profiler.storage.errors import StorageError
from torch_tb_profiler.storage.secrets import without_secrets
from torch_tb_profiler.storage.signing import (
    KEY_VARIABLE,
    MIN_KEY_CHARS,
    is_signed,
    key_name,
    signature,
    signing_key,
)

ONE, OTHER = b"one key of some length", b"another key of some length"
CONTENT = b"content" * 500_000


def test_a_signature_holds_for_one_key_entry_and_content() -> None:
    code = signature(ONE, "entry", io.BytesIO(CONTENT))
    assert is_signed(ONE, "entry", io.BytesIO(code + CONTENT))
    assert not is_signed(OTHER, "entry", io.BytesIO(code + CONTENT))
    assert not is_signed(ONE, "other", io.BytesIO(code + CONTENT))
    assert not is_signed(ONE, "entry", io.BytesIO(code + CONTENT[:-1]))
    assert not is_signed(ONE, "entry", io.BytesIO(code))
    assert not is_signed(ONE, "entry", io.BytesIO(b""))


def test_names_of_keys_differ_and_reveal_nothing() -> None:
    assert key_name(ONE) != key_name(OTHER)
    assert ONE.hex()[:8] not in key_name(ONE)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert signing_key() is None
    monkeypatch.setenv(KEY_VARIABLE, " \n")
    assert signing_key() is None
    monkeypatch.setenv(KEY_VARIABLE, ONE.decode() + "\n")
    assert signing_key() == ONE
    assert ONE.decode() not in without_secrets(f"what failed with {ONE.decode()} in it")
    monkeypatch.setenv(KEY_VARIABLE, "x" * (MIN_KEY_CHARS - 1))
    with pytest.raises(StorageError):
        signing_key()
