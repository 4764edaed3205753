"""Categories of slices whose category is missing or unknown: by row, arguments and name."""

from __future__ import annotations

import re

import numpy as np

from torch_tb_profiler.importers.kineto.categories import UNKNOWN_CATEGORY, infer_category
from torch_tb_profiler.importers.kineto.dialect import Dialect
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import ABSENT, DEVICE_LABEL, ColumnArrays, Track
from torch_tb_profiler.trace.quality import QualityReport

DEVICE_ROW = re.compile(r"(GPU|NPU|XPU|MTIA|HPU)\b")
"""The label of a process whose rows belong to a device, with or without a number."""


def assign_missing_categories(
    tables: dict[str, ColumnArrays],
    strings: list[str],
    tracks: list[Track],
    dialect: Dialect | None,
    quality: QualityReport,
) -> None:
    """Assign a category to every slice without a known one, in place.

    Args:
        tables: All tables; slices and their details are used.
        strings: The strings of the file.
        tracks: Its tracks.
        dialect: Its dialect; None for PyTorch's own.
        quality: Counts unknown and missing categories.
    """
    slices, device = tables["slices"], tables["device"]
    category = slices["category"]
    if dialect is not None:
        _apply_dialect_categories(slices, strings, dialect)
    rows = np.flatnonzero(category == UNKNOWN_CATEGORY)
    if not rows.size:
        return
    has_raw_category = slices["raw_category_code"][rows] >= 0
    quality.add("unknown_category", int(has_raw_category.sum()))
    with_both = (device["device"] != ABSENT) & (device["stream"] != ABSENT)
    by_args = np.isin(rows, device["slice"][with_both])
    raw_code = np.maximum(slices["raw_category_code"][rows], -1)
    keys = np.stack([slices["track"][rows], slices["name_code"][rows], raw_code, by_args], axis=1)
    combinations, combination = np.unique(keys, axis=0, return_inverse=True)
    assigned, is_guess = [], []
    for track, name, raw, on_device in combinations.tolist():
        by_dialect = (
            None if dialect is None else dialect.infer_category(tracks[track], strings[name])
        )
        by_rules = _category(
            tracks[track],
            strings[name],
            raw_category=strings[raw] if raw >= 0 else None,
            on_device=bool(on_device),
        )
        assigned.append(by_rules if by_dialect is None else by_dialect)
        is_guess.append(by_dialect is None)
    combination = combination.reshape(-1)
    category[rows] = np.array(assigned, np.int8)[combination]
    quality.add(
        "missing_category", int((~has_raw_category & np.array(is_guess)[combination]).sum())
    )
    if dialect is not None and dialect.duplicate_rows is not None:
        category[dialect.duplicate_rows(slices, strings, tracks)] = Category.DEVICE_OTHER
    modules = tables["python"]["slice"][tables["python"]["module_id"] != ABSENT]
    category[modules] = Category.MODULE


def _apply_dialect_categories(slices: ColumnArrays, strings: list[str], dialect: Dialect) -> None:
    """Assign the categories that only the dialect knows."""
    rows = np.flatnonzero(slices["category"] == UNKNOWN_CATEGORY)
    raw_codes = slices["raw_category_code"][rows]
    for code in np.unique(raw_codes[raw_codes >= 0]).tolist():
        known = dialect.categories.get(strings[code].lower())
        if known is not None:
            slices["category"][rows[raw_codes == code]] = known


def _category(track: Track, name: str, *, raw_category: str | None, on_device: bool) -> Category:
    """Device work is what is in a row of "GPU n" or has device and stream arguments.

    A row of a device without a number counts only for slices that have no category at all. What
    has an unknown one is a kernel only if that says so.
    """
    label = track.process_label or ""
    row = DEVICE_ROW if raw_category is None else DEVICE_LABEL
    is_device = on_device or row.match(label) is not None
    if raw_category is None:
        return infer_category(name, on_device=is_device)
    if not is_device:
        return Category.HOST_OTHER
    category = infer_category(name, on_device=True)
    says_kernel = "kernel" in raw_category.lower()
    return Category.DEVICE_OTHER if category == Category.KERNEL and not says_kernel else category
