"""The timeline's questions as typed values. Times are ns from the origin, and may be fractions."""

from __future__ import annotations

from msgspec import Struct

from torch_tb_profiler.requests import parameters
from torch_tb_profiler.requests.errors import RequestError
from torch_tb_profiler.requests.parameters import Parameters
from torch_tb_profiler.requests.questions import Subject
from torch_tb_profiler.views.timeline.levels import LEVELLED, MAX_LEVELS

MAX_WIDTH_PX = 4000
MAX_TIME_NS = 2.0**60
"""36 years: sums and differences of such times stay within 64 bits."""

MAX_CODES = 500
MAX_TRACKS_TEXT = 65_536
"""Characters of ``tracks``: 4000 tracks with their lanes."""


class TracksRequest(Struct, frozen=True):
    """The tracks of a trace; ``levels`` says how many levels of which groups are among them."""

    subject: Subject
    levels: tuple[tuple[str, int], ...] = ()


class RangeRequest(Struct, frozen=True):
    """A stretch of a trace; what is None is that of the whole trace."""

    subject: Subject
    start_ns: float | None = None
    end_ns: float | None = None


class ScreenRequest(Struct, frozen=True):
    """One screen of a stretch; ``tracks`` None means those that are not collapsed. With ``band``
    only that of the rank, for which its summary is enough."""

    range: RangeRequest
    width_px: int
    tracks: str | None = None
    levels: tuple[tuple[str, int], ...] = ()
    band: bool = False


class SummaryRequest(Struct, frozen=True):
    """What a stretch holds; ``tracks`` None means on all of them."""

    range: RangeRequest
    tracks: str | None = None


class SliceRequest(Struct, frozen=True):
    """One slice of a trace."""

    subject: Subject
    slice: int


class NamesRequest(Struct, frozen=True):
    """The names behind ``codes``, or, when that is None, those of slices from a code on."""

    subject: Subject
    codes: tuple[int, ...] | None
    from_code: int = 0


class SearchRequest(Struct, frozen=True):
    """Slices whose name matches ``query``, or has ``name_code``; looked at from a slice or time."""

    subject: Subject
    query: str | None = None
    name_code: int | None = None
    from_slice: int | None = None
    from_ns: float | None = None


class FlowsRequest(Struct, frozen=True):
    """The arrows of a slice, with those to other workers when ``peers``."""

    subject: Subject
    slice: int
    peers: bool = False


def tracks_request(given: Parameters) -> TracksRequest:
    """What ``/timeline/tracks?…`` asks for.

    Raises:
        RequestError: a parameter makes no sense.
    """
    return TracksRequest(parameters.subject(given), _levels(given))


def range_request(given: Parameters) -> RangeRequest:
    """What ``start_ns`` and ``end_ns`` ask for.

    Raises:
        RequestError: a parameter makes no sense; so of all functions here.
    """
    return RangeRequest(
        parameters.subject(given), _time_ns(given, "start_ns"), _time_ns(given, "end_ns")
    )


def screen_request(given: Parameters) -> ScreenRequest:
    """What ``/timeline?…`` asks for."""
    width_px = parameters.count(given, "width_px")
    if width_px is None or not 1 <= width_px <= MAX_WIDTH_PX:
        raise RequestError("bad_parameter", f"width_px: needs a number from 1 to {MAX_WIDTH_PX}.")
    band = given.get("band") or ""
    if band not in ("", "1"):
        raise RequestError("bad_parameter", f"band: {band[:40]!r} is not 1.")
    tracks = _tracks(given)
    return ScreenRequest(range_request(given), width_px, tracks, _levels(given), band == "1")


def summary_request(given: Parameters) -> SummaryRequest:
    """What ``/timeline/range?…`` asks for."""
    return SummaryRequest(range_request(given), _tracks(given))


def slice_request(given: Parameters) -> SliceRequest:
    """What ``/timeline/namesakes?…`` asks for."""
    return SliceRequest(parameters.subject(given), _slice(given))


def names_request(given: Parameters) -> NamesRequest:
    """What ``/timeline/names?…`` asks for: ``codes``, or ``from`` a code on."""
    subject = parameters.subject(given)
    from_code = parameters.count(given, "from")
    if from_code is not None:
        return NamesRequest(subject, None, from_code)
    codes = (parameters.text(given, "codes") or "").split(",")
    if len(codes) > MAX_CODES or not all(_is_number(code) for code in codes):
        message = f"codes: needs up to {MAX_CODES} whole numbers with commas between."
        raise RequestError("bad_parameter", message, "Or ask with from= for all in order of code.")
    return NamesRequest(subject, tuple(map(int, codes)))


def search_request(given: Parameters) -> SearchRequest:
    """What ``/timeline/search?…`` asks for."""
    return SearchRequest(
        parameters.subject(given),
        query=parameters.text(given, "q"),
        name_code=parameters.count(given, "name_code"),
        from_slice=parameters.count(given, "from_slice"),
        from_ns=_time_ns(given, "from_ns"),
    )


def flows_request(given: Parameters) -> FlowsRequest:
    """What ``/timeline/flows?…`` asks for."""
    return FlowsRequest(parameters.subject(given), _slice(given), given.get("peers") == "1")


def _slice(given: Parameters) -> int:
    slice_id = parameters.count(given, "slice")
    if slice_id is None:
        raise RequestError("bad_parameter", "slice: needs the id of a slice.")
    return slice_id


def _tracks(given: Parameters) -> str | None:
    tracks = given.get("tracks") or None
    if tracks is not None and len(tracks) > MAX_TRACKS_TEXT:
        raise RequestError("bad_parameter", f"tracks: {MAX_TRACKS_TEXT} characters are allowed.")
    return tracks


def _levels(given: Parameters) -> tuple[tuple[str, int], ...]:
    """``levels=modules:3,ranges:2``, how many levels of which groups."""
    text = given.get("levels") or ""
    depths: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, depth = part.partition(":")
        if name not in LEVELLED or not (_is_number(depth) and 0 <= int(depth) <= MAX_LEVELS):
            raise RequestError(
                "bad_parameter",
                f"levels: {part[:40]!r} is none of {', '.join(LEVELLED)} with a number from 0 to "
                f"{MAX_LEVELS}, as in modules:3.",
            )
        depths[name] = int(depth)
    return tuple(depths.items())


def _time_ns(given: Parameters, name: str) -> float | None:
    value = parameters.time_text(given, name, MAX_TIME_NS, "nanoseconds")
    return None if value is None else float(value)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10
