"""What came without a category that is known: settled by row, arguments and name."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, category_without_word
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, DEVICE_LABEL, ColumnArrays, Track
from torch_tb_profiler.trace.quality import QualityReport

DEVICE_ROW = re.compile(r"(GPU|NPU|XPU|MTIA|HPU)\b")
"""A label of a process whose rows are a device's, with or without its number."""


def assign_missing_categories(
    tables: dict[str, ColumnArrays],
    strings: list[str],
    tracks: list[Track],
    dialect: Dialect | None,
    quality: QualityReport,
) -> None:
    """Give every slice of unknown category one, in place; each kind of row once."""
    slices, device = tables["slices"], tables["device"]
    category = slices["category"]
    if dialect is not None:
        _settle_words(slices, strings, dialect)
    rows = np.flatnonzero(category == UNKNOWN_CATEGORY)
    if not rows.size:
        return
    has_word = slices["raw_category_code"][rows] >= 0
    quality.add("unknown_category", int(has_word.sum()))
    with_both = (device["device"] != ABSENT) & (device["stream"] != ABSENT)
    by_args = np.isin(rows, device["slice"][with_both])
    keys = np.stack([slices["track"][rows], slices["name_code"][rows], has_word, by_args], axis=1)
    kinds, kind = np.unique(keys, axis=0, return_inverse=True)
    settled, is_guess = [], []
    for track, name, word, args in kinds.tolist():
        own = None if dialect is None else dialect.category(tracks[track], strings[name])
        common = _category(tracks[track], strings[name], has_word=bool(word), on_device=bool(args))
        settled.append(common if own is None else own)
        is_guess.append(own is None)
    kind = kind.reshape(-1)
    category[rows] = np.array(settled, np.int8)[kind]
    quality.add("missing_category", int((~has_word & np.array(is_guess)[kind]).sum()))
    if dialect is not None and dialect.told_again is not None:
        category[dialect.told_again(slices, strings, tracks)] = Category.DEVICE_OTHER
    modules = tables["python"]["slice"][tables["python"]["module_id"] != ABSENT]
    category[modules] = Category.MODULE


def _settle_words(slices: ColumnArrays, strings: list[str], dialect: Dialect) -> None:
    """Give slices the category that their dialect's word for it means."""
    rows = np.flatnonzero(slices["category"] == UNKNOWN_CATEGORY)
    words = slices["raw_category_code"][rows]
    for code in np.unique(words[words >= 0]).tolist():
        known = dialect.words.get(strings[code].lower())
        if known is not None:
            slices["category"][rows[words == code]] = known


def _category(track: Track, name: str, *, has_word: bool, on_device: bool) -> Category:
    """A row of "GPU n", or device and stream among the arguments, is device work; a row of a
    device without number counts where the file gives no category at all.
    """
    label = track.process_label or ""
    row = DEVICE_LABEL if has_word else DEVICE_ROW
    if on_device or row.match(label):
        return category_without_word(name, on_device=True)
    return Category.HOST_OTHER if has_word else category_without_word(name, on_device=False)
