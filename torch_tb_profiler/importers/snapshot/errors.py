"""Errors of decoding a pickle."""

from __future__ import annotations


class PickleError(Exception):
    """The data is not a pickle, or a damaged one."""


class TruncatedPickleError(PickleError):
    """The stream ends within the pickle."""


class HostilePickleError(PickleError):
    """The pickle would import or call something, or needs more memory than any snapshot."""
