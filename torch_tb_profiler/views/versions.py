"""Versions of device runtimes as people write them."""

from __future__ import annotations


def cuda_version(value: int | None) -> str | None:
    """12040 → "12.4"."""
    if value is None or value <= 0:
        return None
    return f"{value // 1000}.{value % 1000 // 10}"


def hip_version(value: int | None) -> str | None:
    """60443483 → "6.4.43483"."""
    if value is None or value <= 0:
        return None
    return f"{value // 10**7}.{value // 10**5 % 100}.{value % 10**5}"
