"""Plausibility limits: a larger value is damage, whatever format it comes from."""

from __future__ import annotations

MAX_DEVICES = 256
"""No process sees that many devices: larger numbers are damage, and views iterate over all
devices."""

MAX_RANKS = 2**24
"""No job has that many processes; sizes multiplied by their number stay within int64."""

MAX_BYTES = 2**53
"""Beyond this (8 PiB) a size is damage; below, sums of many do not overflow."""
