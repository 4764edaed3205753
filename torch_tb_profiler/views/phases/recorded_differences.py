"""Where figures of a recording's file and those from its events differ, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from torch_tb_profiler.views.recorded import SOURCE
from torch_tb_profiler.views.scales import duration_text
from torch_tb_profiler.views.schema import Note, Table

CODE = "recorded_differs"
OWN = "own_"
"""Prefix of the key of a figure from events; the rest is the key of the file's figure."""

LEAST_PCT = 1.0
"""A difference below is rounding."""

PREPARING = "preparing_us"
INCLUDES = {"free_us": PREPARING}
"""Key → the key of what the figure from events includes and the file's does not."""


def difference_notes(tables: Iterable[Table]) -> tuple[Note, ...]:
    """A note per table that has figures of both kinds: which agree, which differ, and the reason
    where it is known."""
    notes = (_note(table) for table in tables)
    return tuple(note for note in notes if note is not None)


def _note(table: Table) -> Note | None:
    titles = {column.key: column.title for column in table.spec.columns}
    agree, differ = [], []
    reasons: list[str] = []
    for own in (key for key in titles if key.startswith(OWN)):
        key = own.removeprefix(OWN)
        both = table.frame.filter(pl.col(key).is_not_null() & pl.col(own).is_not_null())
        recorded, computed = float(both[key].sum()), float(both[own].sum())
        if not both.height or max(recorded, computed) <= 0:
            continue
        if abs(recorded - computed) <= LEAST_PCT / 100 * max(recorded, computed):
            agree.append(titles[key])
            continue
        differ.append(f"{titles[key]} ({duration_text(recorded)}, {duration_text(computed)} here)")
        reason = INCLUDES.get(key)
        if reason in titles and float(both[reason].sum()) > 0:
            time = duration_text(float(both[reason].sum()))
            included = f"{titles[key]} includes {titles[reason]} ({time})"
            reasons.append(f"Steps here begin on the host, so {included}.")
    if not differ:
        return None
    source = str(next(iter(table.frame[SOURCE.key].drop_nulls()), "The file"))
    text = f"{source} and the events differ on {', '.join(differ)}"
    text += f"; they agree within {LEAST_PCT:.0f} % on {', '.join(agree)}" if agree else ""
    evidence: dict[str, object] = {"table": table.spec.name}
    return Note("quality", CODE, "info", " ".join((f"{text}.", *reasons)), evidence)
