"""Texts of a piece: given in place, or by the number of an interned entry."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.batch import AnyText, Ref
from torch_tb_profiler.importers.pftrace.counters import Scoped, take_counter_names
from torch_tb_profiler.importers.pftrace.fields import TEXT_OF_ENTRY, InternedData, TracePacket
from torch_tb_profiler.importers.pftrace.scopes import Scopes
from torch_tb_profiler.importers.protobuf.texts import distinct_texts, leading_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Occurrences, Wire
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

MAX_IID = 1 << 40
MAX_TABLE = 1 << 20
"""Numbers below are looked up in a table of as many places."""


class PieceTexts:
    """Gives texts codes; entries of the piece itself are looked up at once.

    Attributes:
        codes: Text, or what stands for one → code.
        entries: (scope, kind) → iid → text.
        messages: Interned data: scope of each message, and its fields.
        quality: Is told of numbers that no entry of the piece can have.
    """

    def __init__(self, wire: Wire, packets: Fields, scopes: Scopes, quality: QualityReport) -> None:
        self.wire = wire
        self.scopes = scopes
        self.quality = quality
        self.codes = Interner()
        self.entries: dict[tuple[int, int], dict[int, str]] = {}
        picked = packets.pick(TracePacket.INTERNED, DELIMITED)
        self.messages = wire.fields(picked.start, picked.end)
        quality.add("broken_message", self.messages.broken)
        self.scope_of_message = scopes.scope[picked.message]
        for kind, text_field in TEXT_OF_ENTRY.items():
            self._take(kind, text_field)
        owners = Scoped(packets, scopes.scope), Scoped(self.messages, self.scope_of_message)
        take_counter_names(wire, *owners, self.entries)

    def _take(self, kind: int, text_field: int) -> None:
        picked = self.messages.pick(kind, DELIMITED)
        if not picked.message.size:
            return
        entries = self.wire.fields(picked.start, picked.end)
        codes, texts = distinct_texts(self.wire, *entries.spans(text_field))
        texts.append("")  # an entry without a text, by the code -1
        scopes = self.scope_of_message[picked.message].tolist()
        iids = entries.ints(InternedData.IID, default=0).tolist()
        for scope, iid, code in zip(scopes, iids, codes.tolist(), strict=True):
            self.entries.setdefault((scope, kind), {})[iid] = texts[code]

    def inline(self, start: Int64, end: Int64) -> Int32:
        """Codes of texts given in place; -1 for none."""
        codes, texts = distinct_texts(self.wire, start, end)
        return np.array([*(self.codes[text] for text in texts), -1], np.int32)[codes]

    def leading(self, picked: Occurrences, number: int) -> tuple[Int32, Int64] | None:
        """Codes of the texts that messages begin with, and the ends of these; None where one
        begins otherwise."""
        found = leading_texts(self.wire, picked, number)
        if found is None:
            return None
        return np.array([self.codes[text] for text in found.texts], np.int32)[
            found.codes
        ], found.end

    def interned(self, kind: int, iid: Int64, packet: Int64) -> Int32:
        """Codes of texts given by their numbers; -1 for none (0 is none, too).

        Args:
            kind: Of :class:`~torch_tb_profiler.importers.pftrace.fields.InternedData`.
            iid: The numbers, or :data:`ABSENT`.
            packet: The packet that each stands in.
        """
        is_there = (iid > 0) & (iid < MAX_IID)
        if not is_there.any():
            return np.full(iid.size, -1, np.int32)
        iid = np.where(is_there, iid, 0)
        width = int(iid.max()) + 1
        distinct, place = _distinct(self.scopes.scope[packet] * width + iid)
        known = [self._code(kind, *divmod(key, width)) for key in distinct.tolist()]
        codes: Int32 = np.array(known, np.int32)[place]
        return codes

    def _code(self, kind: int, scope: int, iid: int) -> int:
        if not iid:
            return -1
        text: AnyText | None = self.entries.get((scope, kind), {}).get(iid)
        if text is None and self.scopes.is_first[scope]:
            text = Ref(self.scopes.ids[self.scopes.owner[scope]], kind, iid)
        if text is None:
            self.quality.add("interned_missing")
            return -1
        return self.codes[text]

    def first(self, *codes: Int32) -> Int32:
        """Of several codes per row the first that is one."""
        result = codes[0]
        for other in codes[1:]:
            result = np.where(result < 0, other, result)
        return result


def _distinct(keys: Int64) -> tuple[Int64, Int64]:
    """The distinct ones of some numbers from 0 on, and the place of each number among them."""
    if keys.max() >= MAX_TABLE:
        return np.unique(keys, return_inverse=True)
    is_used = np.bincount(keys) > 0
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[keys]
