"""The domains of ranges: as the format records them, else by the names of the ranges."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl

from torch_tb_profiler.analysis.algebra.codes import map_names
from torch_tb_profiler.analysis.algebra.forests import indices
from torch_tb_profiler.knowledge.range_domains import (
    USER_DOMAIN,
    range_domain,
    range_domains_file,
)
from torch_tb_profiler.trace.categories import Category
from torch_tb_profiler.trace.columns import Bools, Int64
from torch_tb_profiler.trace.derived import per_trace
from torch_tb_profiler.trace.model import Trace

RANGE_CATEGORIES = (Category.ANNOTATION, Category.DATALOADER, Category.OPTIMIZER)
"""Ranges around work; steps are iterations, not ranges."""

_OF_DEVICES = ("xla/", "proton/")
"""Prefixes of raw categories of ranges that device work states itself: its scopes."""

_DOMAIN_PREFIXES = ("nvtx/", "mstx/", "roctx/", *_OF_DEVICES)
"""Prefixes of raw categories of ranges in formats that record domains; the rest is the domain."""

DEFAULT = "default"
"""The domain of ranges that have none: their names decide."""

MAX_DOMAINS = 64
"""Domains of one recording; ranges of further ones are in :data:`OTHERS`."""
OTHERS = "other domains"


def _recorded_domain(category: str) -> str | None:
    """The domain in a raw category; None where it has none."""
    prefixes = (each for each in _DOMAIN_PREFIXES if category.startswith(each))
    return next((category.removeprefix(each) for each in prefixes), None)


@per_trace
def has_recorded_domain(trace: Trace) -> Bools:
    """Per slice whether it is a range whose format records domains; some of these stand for
    operators. Read-only."""
    raw = trace.slices["raw_category_code"]
    has_domain = np.zeros(len(trace.strings) + 1, np.bool_)  # the last is for null
    for code in raw.unique().drop_nulls().to_list():
        has_domain[code] = _recorded_domain(str(trace.strings[code])) is not None
    mask: Bools = has_domain[indices(raw)] & (trace.slices["category"].to_numpy() != Category.STEP)
    mask.flags.writeable = False
    return mask


@per_trace
def ranges_of_devices(trace: Trace) -> Bools:
    """Per slice whether it is a range of device work alone: the host need not run meanwhile.
    Read-only."""
    raw = trace.slices["raw_category_code"]
    of_device = np.zeros(len(trace.strings) + 1, np.bool_)  # the last is for null
    for code in raw.unique().drop_nulls().to_list():
        of_device[code] = str(trace.strings[code]).startswith(_OF_DEVICES)
    mask: Bools = of_device[indices(raw)]
    mask.flags.writeable = False
    return mask


def range_ids(trace: Trace, categories: tuple[Category, ...] = RANGE_CATEGORIES) -> Int64:
    """The ranges of a trace: of ``categories``, and operators that are recorded as ranges."""
    category = trace.slices["category"].to_numpy()
    wanted = np.zeros(len(Category), np.bool_)
    wanted[[int(each) for each in categories]] = True
    return np.flatnonzero(
        wanted[category] | (has_recorded_domain(trace) & (category == Category.OPERATOR))
    )


def resolve_domains(trace: Trace, ids: Int64) -> tuple[list[str], Int64]:
    """The domains of some ranges, the program's first, and per range the index of its domain."""
    names = [USER_DOMAIN, *(entry.name for entry in range_domains_file().domains)]
    index_of = {name: index for index, name in enumerate(names)}
    by_range_name: Int64 = map_names(
        trace,
        trace.slices["name_code"].to_numpy()[ids],
        lambda name: index_of[range_domain(name)],
        np.int64,
    )
    raw = indices(trace.slices["raw_category_code"])[ids]
    counts = Counter(raw[has_recorded_domain(trace)[ids]].tolist())
    by_category = np.full(len(trace.strings) + 1, -1, np.int64)
    for code, _ in counts.most_common():
        domain = _recorded_domain(str(trace.strings[code]))
        if domain and domain != DEFAULT:
            name = domain if len(index_of) < MAX_DOMAINS else OTHERS
            by_category[code] = index_of.setdefault(name, len(index_of))
    recorded = by_category[raw]
    return list(index_of), np.where(recorded >= 0, recorded, by_range_name)


def domain_column(trace: Trace, ids: Int64) -> pl.Series:
    """The domain of each of some ranges, as text."""
    names, domain = resolve_domains(trace, ids)
    return pl.Series(names, dtype=pl.String).gather(domain)
