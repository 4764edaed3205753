"""Who a memory record belongs to, in words: the operator and the module."""

from __future__ import annotations

import numpy as np
import polars as pl
from msgspec import Struct

from torch_tb_profiler.analysis.algebra.dense_ids import distinct_values, factorize
from torch_tb_profiler.analysis.algebra.forests import gather, indices, nearest_marked
from torch_tb_profiler.analysis.recording.module_tree import module_tree
from torch_tb_profiler.trace.categories import PYTHON_CATEGORIES, Category
from torch_tb_profiler.trace.columns import Int64
from torch_tb_profiler.trace.model import Trace

UNKNOWN_OPERATOR = "<unknown>"
NO_MODULE = "<no module>"
_BARE = "aten::empty"


class OwnerLabels(Struct, frozen=True, eq=False):
    """A text per record, dictionary coded: ``texts[code[i]]``."""

    code: Int64
    texts: list[str]

    def gather(self, records: Int64) -> pl.Series:
        """The texts of some records."""
        return pl.Series(self.texts, dtype=pl.String).gather(self.code[records])


def operator_labels(trace: Trace, operator: Int64) -> OwnerLabels:
    """The name of each record's operator. A bare ``aten::empty`` says little, so what is around
    it stands before: ``nn.Module: Linear_0 (aten::empty)``.

    Args:
        trace: The trace.
        operator: Slice of the operator of each record, -1 for none.
    """
    names = trace.slices["name_code"].to_numpy().astype(np.int64)
    own = gather(names, operator)
    bare = [
        code for code in distinct_values(own).tolist() if (trace.text(code) or "").startswith(_BARE)
    ]
    around = gather(names, _around(trace, np.where(np.isin(own, bare), operator, -1)))
    pairs, inverse = factorize((own + 1) * (len(trace.strings) + 1) + around + 1)
    texts: dict[str, int] = {}
    recoded = np.empty(len(pairs), np.int64)
    for row, key in enumerate(pairs.tolist()):
        name, outer = (code - 1 for code in divmod(key, len(trace.strings) + 1))
        text = trace.text(name) or UNKNOWN_OPERATOR
        if outer >= 0:
            text = f"{trace.text(outer)} ({text})"
        recoded[row] = texts.setdefault(text, len(texts))
    return OwnerLabels(recoded[inverse], list(texts))


def _around(trace: Trace, operator: Int64) -> Int64:
    """What is shown before a bare allocation: the operator above it; else the innermost python
    frame that is not a built-in; else the range above it."""
    slices = trace.slices
    parent = indices(slices["parent"])
    category = slices["category"].to_numpy()
    above = gather(parent, operator)
    frame = indices(slices["frame"])
    names = slices["name_code"].to_numpy()
    is_python = np.isin(category, PYTHON_CATEGORIES)
    builtin = [
        c for c in distinct_values(names[is_python]) if str(trace.strings[c]).startswith("<")
    ]
    is_source = ~np.isin(names, builtin)
    source = gather(nearest_marked(parent, is_source), gather(frame, operator))
    is_operator = gather(category.astype(np.int64), above) == Category.OPERATOR
    return np.where(is_operator, above, np.where(source >= 0, source, above))


def module_labels(trace: Trace, owner: Int64, frame: Int64) -> OwnerLabels:
    """The path of the module each record happened in; backward work names the module whose
    gradients it computes, with ``(backward)`` after it.

    Args:
        trace: The trace.
        owner: Innermost node around each record, -1 for none.
        frame: Innermost python frame around each record, -1 for none.
    """
    tree = module_tree(trace)
    forward = gather(tree.around, np.where(frame >= 0, frame, owner))
    in_backward = gather(tree.backward_root, owner) >= 0
    occurrence = np.where(in_backward, gather(tree.backward_of, owner), forward)
    node = gather(tree.node, occurrence)
    paths = tree.nodes.path
    texts = [*paths, *(f"{path} (backward)" for path in paths), NO_MODULE]
    code = np.where(in_backward, node + len(paths), node)
    return OwnerLabels(np.where(node >= 0, code, len(texts) - 1), texts)
