"""Lists the arguments that the slices of a Kineto trace have, from a sample of its pieces."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import msgspec

from torch_tb_profiler.importers.argument_names import (
    MAX_LISTED,
    ArgumentListing,
    ArgumentSample,
    ListingLimits,
)
from torch_tb_profiler.importers.kineto.boundaries import EventBoundaries
from torch_tb_profiler.importers.kineto.event_kinds import FIRST_SLICE_KIND, event_kind
from torch_tb_profiler.importers.kineto.file_pieces import FilePiece, FilePieces, is_plain_text
from torch_tb_profiler.importers.kineto.find_event import KNOWN_KEYS
from torch_tb_profiler.importers.kineto.piece_decoder import decode_piece
from torch_tb_profiler.importers.kineto.pieces import EventPiece, EventPieces
from torch_tb_profiler.importers.kineto.structs import STATED_FIELDS, Event
from torch_tb_profiler.importers.kineto.values import hashable, text_of
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.importers.text import utf8
from torch_tb_profiler.trace.quality import QualityReport

PIECE_BYTES = 1 << 20
FIRST_PIECES = 8
"""So many pieces are read from the start on, so that small files are read whole."""

EACH = 8
"""After that, one piece of so many; categories lie one after the other in a file."""

MAX_EXAMPLE_CHARS = 200
MAX_NAMES = 20_000
"""Names beyond so many are not looked at: no writer has them."""

_OBJECT: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NUMBER_STARTS = frozenset(b"-0123456789")


def list_arguments(
    source: AnySource, is_secret: Callable[[str, str], bool], limits: ListingLimits
) -> ArgumentListing:
    """The arguments of the slices in a sample of the file.

    Args:
        source: The file.
        is_secret: Whether a value, given its name and its JSON text, may be a secret.
        limits: Where the listing stops.

    Raises:
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    assert isinstance(source, Source), "a Kineto trace is a file"
    listing = _Listing(is_secret, limits)
    if source.path is not None and is_plain_text(source.path):
        file_pieces = FilePieces(source.path, PIECE_BYTES)
        return listing.result(iter(file_pieces), file_pieces.boundaries)
    with closing(source.unpacked()) as unpacked:
        pieces = EventPieces(iter(utf8(unpacked, QualityReport())), PIECE_BYTES)
        return listing.result(iter(pieces), pieces.boundaries)


class _Listing:
    def __init__(self, is_secret: Callable[[str, str], bool], limits: ListingLimits) -> None:
        self._is_secret = is_secret
        self._limits = limits
        self._samples: dict[str, ArgumentSample] = {}
        self._slices = 0
        self._read_bytes = 0

    def result(
        self, pieces: Iterator[EventPiece | FilePiece], boundaries: EventBoundaries
    ) -> ArgumentListing:
        is_sample = False
        deadline_s = time.monotonic() + self._limits.seconds
        for number, piece in enumerate(pieces):
            is_end = self._read_bytes > self._limits.text_bytes or time.monotonic() > deadline_s
            if number >= FIRST_PIECES and (is_end or number % EACH):
                is_sample = True
                if is_end:
                    break
                continue
            whole = piece.read() if isinstance(piece, FilePiece) else piece
            self._read_bytes += len(whole.text)
            decoded = decode_piece(whole, boundaries, QualityReport())
            for event in decoded.events:
                self._add(event)
            if decoded.tail is not None:
                break
        most = sorted(self._samples, key=lambda name: -self._samples[name].count)[:MAX_LISTED]
        samples = {name: self._samples[name] for name in most}
        in_model = (KNOWN_KEYS | {each.key for each in STATED_FIELDS.values()}) & samples.keys()
        return ArgumentListing(samples, in_model, self._slices, is_sample)

    def _add(self, event: Event) -> None:
        category = hashable(event.cat)
        if event_kind(hashable(event.ph), category) < FIRST_SLICE_KIND:
            return
        self._slices += 1
        try:
            values = _OBJECT.decode(event.args)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        for name, raw in values.items():
            sample = self._samples.get(name)
            if sample is None:
                if len(self._samples) >= MAX_NAMES:
                    continue
                sample = self._samples[name] = ArgumentSample(example=self._example(name, raw))
            sample.count += 1
            sample.numbers += bytes(raw)[0] in _NUMBER_STARTS
            shown = text_of(category)
            sample.categories[shown] = sample.categories.get(shown, 0) + 1

    def _example(self, name: str, raw: msgspec.Raw) -> str | None:
        text = bytes(raw).decode("utf-8", "replace")
        return None if self._is_secret(name, text) else text[:MAX_EXAMPLE_CHARS]
