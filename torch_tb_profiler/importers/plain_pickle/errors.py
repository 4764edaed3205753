"""Errors of decoding a pickle."""

from __future__ import annotations


class PickleError(Exception):
    """The data is not a pickle, or a damaged one."""


class TruncatedPickleError(PickleError):
    """The stream ends within the pickle."""


class HostilePickleError(PickleError):
    """The pickle would import or call something, or claims more bytes than any value has."""


class TooManyValuesError(PickleError):
    """The pickle holds more values than any recording of its size."""
