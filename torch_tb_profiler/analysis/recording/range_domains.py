"""Whose the ranges of a recording are: of the domain the format names, else by their names."""

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
"""Ranges that somebody put around work; steps are iterations and no ranges."""

NAMING = ("nvtx/", "mstx/")
"""Beginnings of raw categories of ranges in formats that name domains. What follows is the name."""

DEFAULT = "default"
"""The domain of ranges that were put into none: their names tell whose they are."""

MOST_NAMED = 64
"""Domains that a file names; the ranges of further ones are in :data:`OTHERS`."""
OTHERS = "other domains"


def _named_domain(word: str) -> str | None:
    """The domain in a raw category; None where it tells none."""
    return next((word.removeprefix(each) for each in NAMING if word.startswith(each)), None)


@per_trace
def named_ranges(trace: Trace) -> Bools:
    """Mask over slices of the ranges whose format names domains, those among them that stand for
    operators; made once, read-only."""
    words = trace.slices["raw_category_code"]
    tells = np.zeros(len(trace.strings) + 1, np.bool_)  # the last is for none
    for code in words.unique().drop_nulls().to_list():
        tells[code] = _named_domain(str(trace.strings[code])) is not None
    named: Bools = tells[indices(words)] & (trace.slices["category"].to_numpy() != Category.STEP)
    named.flags.writeable = False
    return named


def range_ids(trace: Trace, categories: tuple[Category, ...] = RANGE_CATEGORIES) -> Int64:
    """The ranges of a trace: of ``categories``, and operators that are ranges really."""
    category = trace.slices["category"].to_numpy()
    wanted = np.zeros(len(Category), np.bool_)
    wanted[[int(each) for each in categories]] = True
    return np.flatnonzero(
        wanted[category] | (named_ranges(trace) & (category == Category.OPERATOR))
    )


def domains_of(trace: Trace, ids: Int64) -> tuple[list[str], Int64]:
    """The domains of some ranges, ranges of the program first, and per range its place there."""
    names = [USER_DOMAIN, *(entry.name for entry in range_domains_file().domains)]
    by_name = {name: place for place, name in enumerate(names)}
    number: Int64 = map_names(
        trace,
        trace.slices["name_code"].to_numpy()[ids],
        lambda name: by_name[range_domain(name)],
        np.int64,
    )
    raw = indices(trace.slices["raw_category_code"])[ids]
    named = named_ranges(trace)[ids]
    counted = Counter(raw[named].tolist())
    place_of = np.full(len(trace.strings) + 1, -1, np.int64)
    for code, _ in counted.most_common():
        domain = _named_domain(str(trace.strings[code]))
        if domain and domain != DEFAULT:
            new = domain if len(by_name) < MOST_NAMED else OTHERS
            place_of[code] = by_name.setdefault(new, len(by_name))
    told = place_of[raw]
    return list(by_name), np.where(told >= 0, told, number)


def domain_column(trace: Trace, ids: Int64) -> pl.Series:
    """The domain of each of some ranges, as text."""
    names, number = domains_of(trace, ids)
    return pl.Series(names, dtype=pl.String).gather(number)
