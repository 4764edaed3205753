"""Texts of a piece: inline, or references to interned entries."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from torch_tb_profiler.importers.kineto.values import Interner
from torch_tb_profiler.importers.pftrace.batch import AnyText, InternedRef
from torch_tb_profiler.importers.pftrace.counters import ScopedMessages, read_counter_names
from torch_tb_profiler.importers.pftrace.fields import TEXT_OF_ENTRY, InternedData, TracePacket
from torch_tb_profiler.importers.pftrace.scopes import Scopes
from torch_tb_profiler.importers.protobuf.texts import distinct_texts, leading_texts
from torch_tb_profiler.importers.protobuf.wire import DELIMITED, Fields, Occurrences, Wire
from torch_tb_profiler.trace.columns import Int32, Int64
from torch_tb_profiler.trace.quality import QualityReport

MAX_IID = 1 << 40
MAX_LOOKUP = 1 << 20
"""Smaller integers are made distinct by a lookup table instead of sorting."""


class PieceTexts:
    """Assigns codes to the texts of a piece; references to its own entries are resolved at once.

    Attributes:
        codes: Text, or reference to one of an earlier piece → code.
        entries: (scope, kind) → iid → text.
        messages: The fields of the messages with interned data.
        scope_of_message: The scope of each of these messages.
        quality: Counts references that cannot be resolved.
    """

    def __init__(
        self,
        wire: Wire,
        packets: Fields,
        scopes: Scopes,
        quality: QualityReport,
        requested: Container[str] = (),
    ) -> None:
        self.wire = wire
        self.scopes = scopes
        self.quality = quality
        self.requested = requested
        self.codes = Interner()
        self.entries: dict[tuple[int, int], dict[int, str]] = {}
        interned = packets.pick(TracePacket.INTERNED, DELIMITED)
        self.messages = wire.fields(interned.start, interned.end)
        quality.add("broken_message", self.messages.broken)
        self.scope_of_message = scopes.scope[interned.message]
        for kind, text_field in TEXT_OF_ENTRY.items():
            self._read_entries(kind, text_field)
        owners = (
            ScopedMessages(packets, scopes.scope),
            ScopedMessages(self.messages, self.scope_of_message),
        )
        read_counter_names(wire, *owners, self.entries)

    def _read_entries(self, kind: int, text_field: int) -> None:
        occurrences = self.messages.pick(kind, DELIMITED)
        if not occurrences.message.size:
            return
        entries = self.wire.fields(occurrences.start, occurrences.end)
        codes, texts = distinct_texts(self.wire, *entries.spans(text_field))
        texts.append("")  # the text of entries without one, whose code is -1
        scopes = self.scope_of_message[occurrences.message].tolist()
        iids = entries.ints(InternedData.IID, default=0).tolist()
        for scope, iid, code in zip(scopes, iids, codes.tolist(), strict=True):
            self.entries.setdefault((scope, kind), {})[iid] = texts[code]

    def inline(self, start: Int64, end: Int64) -> Int32:
        """Codes of inline texts; -1 for none."""
        codes, texts = distinct_texts(self.wire, start, end)
        return np.array([*(self.codes[text] for text in texts), -1], np.int32)[codes]

    def leading(self, messages: Occurrences, number: int) -> tuple[Int32, Int64] | None:
        """Codes of the texts that messages begin with, and the ends of these texts; None if any
        message begins with something else."""
        leading = leading_texts(self.wire, messages, number)
        if leading is None:
            return None
        codes = np.array([self.codes[text] for text in leading.texts], np.int32)
        return codes[leading.codes], leading.end

    def interned(self, kind: int, iid: Int64, packet: Int64) -> Int32:
        """Codes of interned texts; -1 for none (an iid of 0 is none, too).

        Args:
            kind: A field of :class:`~torch_tb_profiler.importers.pftrace.fields.InternedData`.
            iid: The interning ids, or :data:`ABSENT`.
            packet: The packet of each.
        """
        is_valid = (iid > 0) & (iid < MAX_IID)
        if not is_valid.any():
            return np.full(iid.size, -1, np.int32)
        iid = np.where(is_valid, iid, 0)
        width = int(iid.max()) + 1
        distinct, index = _distinct(self.scopes.scope[packet] * width + iid)
        code_of_distinct = [self._code(kind, *divmod(key, width)) for key in distinct.tolist()]
        codes: Int32 = np.array(code_of_distinct, np.int32)[index]
        return codes

    def _code(self, kind: int, scope: int, iid: int) -> int:
        if not iid:
            return -1
        text: AnyText | None = self.entries.get((scope, kind), {}).get(iid)
        if text is None and self.scopes.is_first[scope]:
            text = InternedRef(self.scopes.ids[self.scopes.owner[scope]], kind, iid)
        if text is None:
            self.quality.add("interned_missing")
            return -1
        return self.codes[text]

    def first(self, *codes: Int32) -> Int32:
        """Per row the first of several codes that is not -1."""
        result = codes[0]
        for other in codes[1:]:
            result = np.where(result < 0, other, result)
        return result


def _distinct(keys: Int64) -> tuple[Int64, Int64]:
    """The distinct ones of non-negative integers, and the index of each integer among them."""
    if keys.max() >= MAX_LOOKUP:
        return np.unique(keys, return_inverse=True)
    is_used = np.bincount(keys) > 0
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[keys]
