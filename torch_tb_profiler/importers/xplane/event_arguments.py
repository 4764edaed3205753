"""Values of single events that no other column models."""

from __future__ import annotations

import numpy as np

from torch_tb_profiler.importers.slice_arguments import MAX_EXACT_INTEGER
from torch_tb_profiler.importers.xplane.details import KERNEL
from torch_tb_profiler.importers.xplane.fields import StatField
from torch_tb_profiler.importers.xplane.host_rows import CORRELATION, SOURCE, STEP_NUMBER
from torch_tb_profiler.importers.xplane.metadata import BYTES, CATEGORY, FLOPS
from torch_tb_profiler.importers.xplane.rows import TraceRows
from torch_tb_profiler.importers.xplane.stats import NamedStats
from torch_tb_profiler.trace.columns import Int64

PRIVATE = "_"
"""Names of values that only link threads of XLA begin with it; they are not read."""

MODELED = frozenset({CORRELATION, STEP_NUMBER, KERNEL, CATEGORY, *FLOPS, *BYTES})
"""Values that are columns of their own."""


def is_read(name: str) -> bool:
    """Whether values of a name are read of events."""
    return not name.startswith(PRIVATE) or name == SOURCE


def add_event_arguments(stats: NamedStats, row_of_event: Int64, rows: TraceRows) -> None:
    """Add the arguments of events.

    Args:
        stats: The values of the events.
        row_of_event: The row of each event's slice, -1 for none.
        rows: The tables.
    """
    names = {
        key: name
        for key, name in stats.names.items()
        if name and name not in MODELED and not name.startswith(PRIVATE)
    }
    is_argument = np.isin(stats.rows.key, np.array(list(names), np.int64))
    values = stats.rows.select(is_argument & (row_of_event[stats.rows.owner] >= 0))
    if not values.owner.size:
        return
    key_ids, key = np.unique(values.key, return_inverse=True)
    key_code = np.array([rows.code(names[each]) for each in key_ids.tolist()], np.int32)[key]
    codes, texts = values.resolve_texts(stats.names)
    text_code = rows.codes(texts)[codes]
    numbers = values.numbers()
    is_integer = (values.kind == StatField.SIGNED) | (values.kind == StatField.UNSIGNED)
    for at in np.flatnonzero(is_integer & (np.abs(numbers) > MAX_EXACT_INTEGER)).tolist():
        bits = int(values.bits[at])
        is_unsigned = values.kind[at] == StatField.UNSIGNED
        text_code[at] = rows.strings[str(bits + 2**64 if is_unsigned and bits < 0 else bits)]
    numbers[text_code >= 0] = np.nan
    slices = row_of_event[values.owner]
    pair = slices * (int(key_code.max()) + 1) + key_code
    _, last = np.unique(pair[::-1], return_index=True)
    at = pair.size - 1 - last
    at = at[(text_code[at] >= 0) | ~np.isnan(numbers[at])]
    rows.add(
        "arguments",
        {
            "slice": slices[at],
            "key_code": key_code[at],
            "value": numbers[at],
            "text_code": text_code[at],
        },
    )
