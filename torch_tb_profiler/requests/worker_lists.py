"""Which workers of a run are meant: ``all``, ranks and ranges of them (``0-7,12``), or names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch_tb_profiler.requests.errors import RequestError, unknown

ALL = "all"

_RANGE = re.compile(r"(\d{1,7})(?:[-:](\d{1,7}))?")


def chosen_workers(text: str, ranks: Mapping[str, int | None]) -> list[str]:
    """The workers that a text names, in the order of the run, each once.

    A number is a rank; where recordings declare none, the number of a worker in the order of the
    run, from 0. A name counts before a number.

    Args:
        text: ``"all"``, or items separated by commas: ``"0-7,12,node3_host"``.
        ranks: Worker → its recorded rank, in the order of the run.

    Raises:
        UnknownError: an item names no worker.
        RequestError: the text has no item.
    """
    items = [item.strip() for item in text.split(",") if item.strip()]
    if not items:
        raise RequestError("bad_parameter", "workers: no worker is named.", "Write 0-7, or all.")
    numbers: dict[int, list[str]] = {}
    for order, (worker, rank) in enumerate(ranks.items()):
        numbers.setdefault(order if rank is None else rank, []).append(worker)
    chosen: set[str] = set()
    for item in items:
        chosen |= _named(item, ranks, numbers)
    return [worker for worker in ranks if worker in chosen]


def _named(
    item: str, ranks: Mapping[str, int | None], numbers: Mapping[int, list[str]]
) -> set[str]:
    if item == ALL:
        return set(ranks)
    if item in ranks:
        return {item}
    span = _RANGE.fullmatch(item)
    if span is not None:
        first = int(span[1])
        last = int(span[2] or span[1])
        named = {
            worker
            for number, workers in numbers.items()
            if first <= number <= last
            for worker in workers
        }
        if named:
            return named
    raise unknown("worker", item[:80], list(ranks))
