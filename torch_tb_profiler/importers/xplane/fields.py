"""Field numbers of XPlane's messages (``xplane.proto`` of OpenXLA's XLA)."""

from __future__ import annotations

from typing import Final


class SpaceField:
    """``XSpace``: a file."""

    PLANES: Final = 1
    ERRORS: Final = 2
    WARNINGS: Final = 3


class PlaneField:
    """``XPlane``: a device, or one source of events of the host."""

    NAME: Final = 2
    LINES: Final = 3
    EVENT_METADATA: Final = 4
    STAT_METADATA: Final = 5
    STATS: Final = 6


class EntryField:
    """An entry of the maps of metadata."""

    KEY: Final = 1
    VALUE: Final = 2


class LineField:
    """``XLine``: a thread, a stream, or a kind of events of a device."""

    ID: Final = 1
    NAME: Final = 2
    TIMESTAMP_NS: Final = 3
    EVENTS: Final = 4
    DISPLAY_NAME: Final = 11


class EventField:
    """``XEvent``: with ``OCCURRENCES`` it is a number of events without times."""

    METADATA: Final = 1
    OFFSET_PS: Final = 2
    DURATION_PS: Final = 3
    STATS: Final = 4
    OCCURRENCES: Final = 5


class MetadataField:
    """``XEventMetadata`` and ``XStatMetadata``."""

    NAME: Final = 2
    DISPLAY_NAME: Final = 4
    STATS: Final = 5


class StatField:
    """``XStat``: one value."""

    METADATA: Final = 1
    DOUBLE: Final = 2
    UNSIGNED: Final = 3
    SIGNED: Final = 4
    TEXT: Final = 5
    REFERENCE: Final = 7
