"""The metadata of a plane's events with the codes of the trace: what is computed once per kind of
event instead of once per event."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.importers.xplane.space import EventNames
from torch_tb_profiler.trace.columns import Float64, Int32, Int64

HLO_TEXT = re.compile(r"%?([\w.\-]+) = ")
"""An instruction in the text of an HLO program: ``%fusion.1 = f32[8]{0} fusion(...)``."""

COLLECTIVE = re.compile(
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-permute"
    r"|collective-broadcast)(?:-start|-done)?(?:[.\d].*)?"
)
"""HLO operations between devices; a name may have a number behind."""

CATEGORY, PATH = "hlo_category", "tf_op"
FLOPS = ("model_flops", "flops")
"""Operations of one run: as the model counts them, or as the hardware does with narrow types."""
BYTES = ("bytes_accessed", "raw_bytes_accessed")
OPERATION = "hlo_op"


class PlaneMetadata(Struct, frozen=True):
    """Columns by row of the metadata, each with one more element for events without metadata.

    Attributes:
        names: The metadata.
        shown: Code of the name of each in ``names.texts``; the only column without one more.
        name: Code of the name.
        operation: Code of the name of the HLO operation: the name, without the text of an HLO
            program.
        category: Code of the HLO category, -1 for none.
        path: Code of the scopes and the operation of the framework, likewise.
        flops: Floating point operations of one run.
        bytes: Bytes that one run accesses.
        collective: Code of the kind of an operation between devices, -1 for none.
    """

    names: EventNames
    shown: Int32
    name: Int32
    operation: Int32
    category: Int32
    path: Int32
    flops: Float64
    bytes: Float64
    collective: Int32

    def name_codes(self, rows: Int64, ids: Int64, strings: TraceRows, *, short: bool) -> Int32:
        """The codes of the names of events, and ``event <id>`` for those without one.

        Args:
            rows: Row of each event's metadata, -1 for none.
            ids: Id of each event's metadata.
            strings: The texts of the trace.
            short: Whether HLO operations have their name alone.
        """
        codes: Int32 = (self.operation if short else self.name)[rows]
        nameless = np.flatnonzero(codes < 0)
        if nameless.size:
            distinct, inverse = np.unique(ids[nameless], return_inverse=True)
            codes[nameless] = strings.codes([f"event {each}" for each in distinct.tolist()])[
                inverse
            ]
        return codes


def plane_metadata(names: EventNames, rows: TraceRows) -> PlaneMetadata:
    """The columns of the metadata of one plane."""
    codes = rows.codes(names.texts)
    shown = np.where(names.display_name >= 0, names.display_name, names.name)
    used = np.unique(shown[shown >= 0])
    short = np.full(len(names.texts) + 1, -1, np.int32)
    collective = short.copy()
    for code in used.tolist():
        text = names.texts[code]
        match = HLO_TEXT.match(text)
        operation = match[1] if match else text
        short[code] = rows.code(operation)
        kind = COLLECTIVE.fullmatch(operation)
        collective[code] = rows.strings[kind[1].replace("-", "_")] if kind else -1

    def with_none(column: Int32) -> Int32:
        return np.append(column, np.int32(-1))

    return PlaneMetadata(
        names,
        shown,
        with_none(codes[shown]),
        with_none(short[shown]),
        with_none(_text_column(names, CATEGORY, rows)),
        with_none(_text_column(names, PATH, rows)),
        np.append(_first_number(names, FLOPS), np.nan),
        np.append(_first_number(names, BYTES), np.nan),
        with_none(collective[shown]),
    )


def _text_column(names: EventNames, stat: str, rows: TraceRows) -> Int32:
    """Per metadata the code of a text that it states, -1 for none."""
    codes, texts = names.stats.texts(stat)
    column: Int32 = rows.codes(texts)[codes]
    return column


def _first_number(names: EventNames, stats: tuple[str, ...]) -> Float64:
    """Per metadata the first of some numbers that is stated and not negative."""
    column = np.full(names.ids.size, np.nan)
    for stat in reversed(stats):
        numbers = names.stats.numbers(stat)
        is_usable = np.isfinite(numbers) & (numbers > 0)
        column[is_usable] = numbers[is_usable]
    return column
