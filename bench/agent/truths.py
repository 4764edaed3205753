"""Answers from the raw files, by readers that share no code with the product.

A truth of ``questions.toml`` is a table of one of these kinds:

* ``file`` with ``take`` and conditions: an aggregate over the events of a Kineto JSON file;
* ``file`` with ``query``: SQL on an SQLite file;
* ``file`` with ``row`` and ``column``: a cell of a CSV file;
* ``file`` with ``path``: a value of a JSON file;
* ``file`` with ``snapshot``: an aggregate of the segments of a memory snapshot;
* ``source``: where a person read it.
"""

from __future__ import annotations

import csv
import gzip
import json
import pickle
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = {"samples": ROOT / "samples", "corpus": ROOT.parent / "shared" / "corpus"}

Answer = float | str
Event = dict[str, Any]

AGGREGATES: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "count": len,
    "max": max,
    "min": min,
    "mean": mean,
    "median": median,
}


def answer_of(folder: str, truth: Mapping[str, Any]) -> Answer | None:
    """The answer in the files of a folder; None where a person read it in a text.

    Raises:
        FileNotFoundError: the file is not there.
    """
    if "source" in truth:
        return None
    path = one_file(folder, truth["file"])
    if "query" in truth:
        return _cell_of_sqlite(path, truth["query"])
    if "column" in truth:
        return _cell_of_csv(path, truth["row"], truth["column"])
    if "path" in truth:
        return _value_of_json(path, truth["path"])
    if "snapshot" in truth:
        return _sum_of_snapshot(path, truth["snapshot"])
    answer = _aggregate(path, truth)
    return answer if isinstance(answer, str) else answer * truth.get("scale", 1)


def one_file(folder: str, pattern: str) -> Path:
    """The only file of that name; in the part of the folder's name before ``*`` if it has one.

    Raises:
        FileNotFoundError: there is none.
    """
    root = FOLDERS[folder]
    files = sorted(root.glob(pattern))
    if len(files) != 1:
        raise FileNotFoundError(f"{root}/{pattern}: {len(files)} files")
    return files[0]


def _aggregate(path: Path, truth: Mapping[str, Any]) -> Answer:
    """``take`` (``sum``, ``count``, ``gap`` …) of ``field`` over events of ``category`` whose name
    matches ``name``; with ``top`` the name of the group ``by`` that has the most."""
    chosen = [each for each in _events(path) if _matches(each, truth)]
    take = truth["take"]
    if take == "longest_gap":
        return _longest_gap(chosen)
    if take == "covered":
        return _covered(chosen)
    if take == "self":
        values = _self_times(chosen)
    else:
        field = truth.get("field", "dur")
        values = [(str(each["name"]), _field(each, field)) for each in chosen]
    if take == "distinct":
        return float(len({name for name, _ in values}))
    how = AGGREGATES["sum" if take == "self" else take]
    if "top" not in truth:
        return float(how([value for _, value in values]))
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for name, value in values:
        groups[name].append(value)
    best = max(groups, key=lambda name: how(groups[name]))
    return best if truth["top"] == "name" else float(how(groups[best]))


def _matches(event: Event, truth: Mapping[str, Any]) -> bool:
    category = str(event.get("cat", "")).lower()
    return (
        (event.get("ph") == truth.get("phase", "X"))
        and ("category" not in truth or category in truth["category"])
        and ("name" not in truth or re.search(truth["name"], str(event.get("name"))) is not None)
        and all(
            event.get("args", {}).get(key) == value for key, value in truth.get("args", {}).items()
        )
    )


def _field(event: Event, field: str) -> float:
    value = event["args"][field[5:]] if field.startswith("args.") else event[field]
    return float(value)


def _covered(events: Iterable[Event]) -> float:
    """The time in which any of the events runs."""
    total, end = 0.0, float("-inf")
    for event in sorted(events, key=lambda each: float(each["ts"])):
        start, own_end = float(event["ts"]), float(event["ts"]) + float(event["dur"])
        total += max(0.0, own_end - max(start, end))
        end = max(end, own_end)
    return total


def _longest_gap(events: Iterable[Event]) -> float:
    longest, end = 0.0, float("inf")
    for event in sorted(events, key=lambda each: float(each["ts"])):
        longest = max(longest, float(event["ts"]) - end)
        own_end = float(event["ts"]) + float(event["dur"])
        end = own_end if end == float("inf") else max(end, own_end)
    return longest


def _self_times(events: Iterable[Event]) -> list[tuple[str, float]]:
    """Duration without the events inside, on each thread."""
    threads: defaultdict[tuple[Any, Any], list[Event]] = defaultdict(list)
    for event in events:
        threads[event["pid"], event["tid"]].append(event)
    values: list[tuple[str, float]] = []
    for own in threads.values():
        own.sort(key=lambda each: (float(each["ts"]), -float(each["dur"])))
        open_: list[list[Any]] = []
        for event in own:
            start, duration = float(event["ts"]), float(event["dur"])
            while open_ and open_[-1][1] <= start:
                values.append((open_[-1][0], open_.pop()[2]))
            if open_:
                open_[-1][2] -= duration
            open_.append([str(event["name"]), start + duration, duration])
        values += [(name, left) for name, _, left in open_]
    return values


@cache
def _events(path: Path) -> list[Event]:
    events: list[Event] = _json(path)["traceEvents"]
    return events


def _json(path: Path) -> Any:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def _value_of_json(path: Path, keys: list[Any]) -> Answer:
    value = _json(path)
    for key in keys:
        value = value[key]
    return float(value) if isinstance(value, int | float) else str(value)


def _cell_of_sqlite(path: Path, query: str) -> Answer:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        (value,) = connection.execute(query).fetchone()
    return value if isinstance(value, str) else float(value)


def _cell_of_csv(path: Path, row: Mapping[str, str], column: str) -> Answer:
    with path.open(newline="") as file:
        rows = [
            each
            for each in csv.DictReader(file)
            if all(each[key] == value for key, value in row.items())
        ]
    return float(rows[0][column])


def _sum_of_snapshot(path: Path, key: str) -> Answer:
    """The sum of ``key`` over segments, or their number. Only for files of our corpus: a pickle
    of somebody else may do anything."""
    segments = pickle.loads(path.read_bytes())["segments"]
    return float(len(segments)) if key == "count" else float(sum(each[key] for each in segments))
