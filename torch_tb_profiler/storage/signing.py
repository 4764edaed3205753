"""Signatures of cache entries in a bucket that others can write to.

Only processes that know the key in ``$TORCH_TB_PROFILER_CACHE_KEY`` can create entries that others
with the key accept. The key is read where it is used: it is part of no object that is sent to a
worker.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import BinaryIO

from torch_tb_profiler.storage.errors import StorageError

KEY_VARIABLE = "TORCH_TB_PROFILER_CACHE_KEY"
MIN_KEY_CHARS = 16
SIGNATURE_BYTES = hashlib.sha256().digest_size
"""The signature precedes the signed bytes."""

_PURPOSE = b"torch-tb-profiler cache entry\0"
_CHUNK_BYTES = 1 << 20


def signing_key() -> bytes | None:
    """The key of this process; None if entries are not signed.

    Raises:
        StorageError: the key is so short that it can be guessed.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if key and len(key) < MIN_KEY_CHARS:
        raise StorageError(
            "unreadable",
            f"The key in {KEY_VARIABLE} has less than {MIN_KEY_CHARS} characters.",
            "Make one, for instance with: openssl rand -hex 32",
        )
    return key.encode("utf-8", "surrogateescape") or None


def key_name(key: bytes) -> str:
    """Identifies a key without revealing anything of it."""
    return hmac.new(key, b"torch-tb-profiler key name", hashlib.sha256).hexdigest()[:16]


def signature(key: bytes, entry: str, packed: BinaryIO) -> bytes:
    """The signature of the rest of ``packed`` as the entry ``entry``."""
    code = hmac.new(key, _PURPOSE + entry.encode() + b"\0", hashlib.sha256)
    while chunk := packed.read(_CHUNK_BYTES):
        code.update(chunk)
    return code.digest()


def is_signed(key: bytes, entry: str, packed: BinaryIO) -> bool:
    """Whether ``packed`` begins with the signature of its rest as the entry ``entry``."""
    claimed = packed.read(SIGNATURE_BYTES)
    return hmac.compare_digest(claimed, signature(key, entry, packed))
