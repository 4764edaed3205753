"""Lists the arguments that the slices of a Perfetto trace have."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

import numpy as np

from torch_tb_profiler.importers.argument_names import (
    MAX_LISTED,
    ArgumentListing,
    ArgumentSample,
    ListingLimits,
)
from torch_tb_profiler.importers.pftrace.argument_targets import TARGETS
from torch_tb_profiler.importers.pftrace.merge import PacketBatchMerger
from torch_tb_profiler.importers.pftrace.packets import PIECE_BYTES, pieces
from torch_tb_profiler.importers.pftrace.piece import read_piece
from torch_tb_profiler.importers.requested_arguments import RequestedArguments
from torch_tb_profiler.importers.source import AnySource, Source
from torch_tb_profiler.trace.columns import ColumnArrays

MAX_EXAMPLE_CHARS = 200


class EveryName(tuple[str, ...]):
    """Names of which every one is requested."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)


def list_arguments(
    source: AnySource, is_secret: Callable[[str, str], bool], limits: ListingLimits
) -> ArgumentListing:
    """The arguments of the slices of a file, from its beginning up to the limits.

    Args:
        source: The file.
        is_secret: Whether a value, given its name and its JSON text, may be a secret.
        limits: Where the listing stops.

    Raises:
        TraceFormatError: it has no complete packet.
        StorageError, OSError: the file cannot be read.
        UnpackLimitError: the file exceeds a limit of unpacking.
    """
    assert isinstance(source, Source), "a Perfetto trace is a file"
    everything = EveryName()
    merger = PacketBatchMerger(requested=RequestedArguments(everything))
    decode = partial(read_piece, requested=everything)
    deadline_s = time.monotonic() + limits.seconds
    read_bytes, is_sample = 0, False
    with closing(source.unpacked()) as unpacked:
        for piece in pieces(unpacked, PIECE_BYTES, source.name):
            if read_bytes > limits.text_bytes or time.monotonic() > deadline_s:
                is_sample = True
                break
            merger.add(decode(piece))
            read_bytes += len(piece.data)
    merger.finish()
    strings = list(merger.strings)
    samples: dict[str, ArgumentSample] = {}
    for table in merger.arguments:
        _add(samples, table, strings, is_secret)
    most = sorted(samples, key=lambda name: -samples[name].count)[:MAX_LISTED]
    listed = {name: samples[name] for name in most}
    return ArgumentListing(
        listed, frozenset(TARGETS.keys() & listed.keys()), merger.slice_count, is_sample
    )


def _add(
    samples: dict[str, ArgumentSample],
    table: ColumnArrays,
    strings: list[str],
    is_secret: Callable[[str, str], bool],
) -> None:
    if not table["slice"].size:
        return
    name = strings[table["key_code"][0]]
    sample = samples.get(name)
    if sample is None:
        number, text = float(table["value"][0]), int(table["text_code"][0])
        example = json.dumps(number if text < 0 else strings[text], ensure_ascii=False)
        shown = None if is_secret(name, example) else example[:MAX_EXAMPLE_CHARS]
        sample = samples[name] = ArgumentSample(example=shown)
    sample.count += table["slice"].size
    sample.numbers += int(np.count_nonzero(table["text_code"] < 0))
