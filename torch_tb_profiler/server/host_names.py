"""Which names in the Host header a server answers to.

Requests of another site whose name resolves to this machine (DNS rebinding) have that name there.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]+)?")


def host_in(header: str) -> str:
    """The host of a Host header, without the port; empty where it has none."""
    match = _HOST.fullmatch(header.lower())
    return match[1] if match else ""


def is_allowed_host(name: str, allowed: Collection[str] | None) -> bool:
    """Whether a server answers to a name.

    Args:
        name: The host, without the port.
        allowed: The names that it answers to; None for all.
    """
    return allowed is None or name in allowed or name.endswith(".localhost")
