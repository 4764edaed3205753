"""Cases: names with and without a port, IPv6, names of other sites that look alike."""

from __future__ import annotations

import pytest

from torch_tb_profiler.server.host_names import host_in, is_allowed_host


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:6007", "localhost"),
        ("[::1]:80", "[::1]"),
        ("127.0.0.1:6007", "127.0.0.1"),
        ("a:b", ""),
        ("[::1", ""),
        ("", ""),
        ("localhost:1:2", ""),
    ],
)
def test_host_in_a_header(header: str, host: str) -> None:
    assert host_in(header) == host


def test_allowed_hosts() -> None:
    allowed = {"localhost", "127.0.0.1"}
    assert is_allowed_host("localhost", allowed)
    assert is_allowed_host("tensorboard.localhost", allowed)
    for name in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        assert not is_allowed_host(name, allowed)
        assert is_allowed_host(name, None)
