"""What is wrong with a pickle."""

from __future__ import annotations


class PickleError(Exception):
    """What was read is no pickle, or one that is damaged."""


class TruncatedPickleError(PickleError):
    """The stream ends in the middle."""


class HostilePickleError(PickleError):
    """The pickle wants something to be imported or called, or more memory than a snapshot."""
