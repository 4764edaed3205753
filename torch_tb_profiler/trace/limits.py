"""Numbers beyond which a value is damage, whatever format it comes from."""

from __future__ import annotations

MAX_DEVICES = 1024
"""No process sees as many devices: larger numbers are damage, and views look at each device."""

MAX_RANKS = 2**24
"""No job has as many processes; sizes times their number stay within int64."""

MAX_BYTES = 2**53
"""Beyond this (8 PiB) a size is damage; below, sums of many do not overflow."""
