"""``hccl_raw_*.csv``: collectives and transfers of each step, and the links that they used.

Format: docs/format-mindspore.md#communication.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from msgspec import Struct

from torch_tb_profiler.importers.mindspore.numbers import MS, decimal, integer, number
from torch_tb_profiler.importers.mindspore.operators import type_from_name
from torch_tb_profiler.importers.mindspore.parsing import csv_rows, parse_name
from torch_tb_profiler.trace.limits import MAX_RANKS
from torch_tb_profiler.trace.quality import QualityReport

NEEDED = ("step_num", "communication_cost", "wait_cost", "link_info")
OPERATORS = "communication_operator_cost"
WHOLE = "-"
"""Step number of the last row: the mean, or the last step once more."""

_PAIR = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_PREFIX = re.compile(r"stream_[0-9]+_(?:[0-9]+_)?")
P2P = ("send", "receive")
KILO = 3
"""Decimal kilobytes to bytes, as a power of ten."""


class _Link(Struct, frozen=True):
    """A link as a row states it: from, to, transport, time (ms), size (kB) and bandwidth."""

    source: int
    destination: int
    transport: str
    time: Decimal
    size: Decimal
    bandwidth: Decimal | None


class _Operator(Struct, frozen=True):
    """A collective of a step, or without a name all of them; cost and wait in the file's unit."""

    step: str | None
    name: str | None
    cost: Decimal | None
    wait: Decimal | None
    links: list[_Link]


class Communication(Struct, frozen=True):
    """Rows of the side tables ``recorded_collectives`` and ``links``."""

    collectives: list[dict[str, object]]
    links: list[dict[str, object]]


def read_communication(text: str, quality: QualityReport) -> Communication:
    """Read all steps.

    Raises:
        UnreadableFileError: it has another header.
    """
    rows = list(csv_rows(text, NEEDED, quality))
    steps = [row for row in rows if integer(row["step_num"]) is not None]
    operators: list[_Operator] = []
    # Of a single step some releases write nothing but the last row.
    for row in steps or [row for row in rows if row["step_num"].strip() == WHOLE]:
        step = row["step_num"].strip()
        operators.extend(_operators(row, None if step == WHOLE else step, quality))
    power = _cost_power(operators)
    if power is None and operators:
        quality.add("communication_unit_unknown", len(operators))
    return Communication(
        [_collective(each, power) for each in operators],
        [_link_row(each, link) for each in operators for link in each.links],
    )


def _operators(
    row: dict[str, str], step: str | None, quality: QualityReport
) -> Iterator[_Operator]:
    """The collectives of a step; where the file has none apart, their sum, without a name."""
    by_name = _object(row.get(OPERATORS))
    if by_name:
        for name, value in by_name.items():
            if not isinstance(value, list) or len(value) < 4 or parse_name(name) is None:
                quality.add("side_row_left_out")
                continue
            links = list(_links(value[3], quality))
            yield _Operator(step, parse_name(name), decimal(value[1]), decimal(value[2]), links)
        return
    links_of_all = _object(row["link_info"])
    if links_of_all is None or (row.get(OPERATORS) and by_name is None):
        quality.add("side_row_left_out")
    cost, wait = decimal(row["communication_cost"]), decimal(row["wait_cost"])
    yield _Operator(step, None, cost, wait, list(_links(links_of_all, quality)))


def _object(text: str | None) -> Any:
    """A JSON object in a cell; None for anything else."""
    try:
        value = json.loads(
            text or "", parse_float=Decimal, parse_int=Decimal, parse_constant=lambda _: None
        )
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _links(by_pair: object, quality: QualityReport) -> Iterator[_Link]:
    """``{"1-0": {"SDMA": [time, size, bandwidth]}}`` as links."""
    for pair, by_transport in by_pair.items() if isinstance(by_pair, dict) else ():
        ranks = _PAIR.fullmatch(pair)
        if ranks is None or not isinstance(by_transport, dict):
            quality.add("side_row_left_out")
            continue
        source, destination = int(ranks[1]), int(ranks[2])
        if max(source, destination) >= MAX_RANKS:
            quality.add("side_row_left_out")
            continue
        for transport, measures in by_transport.items():
            if measures == []:
                continue  # some releases did not measure RDMA
            values = _measures(measures)
            if len(values) < 3 or values[0] is None or values[1] is None:
                quality.add("side_row_left_out")
                continue
            yield _Link(source, destination, str(transport)[:64], values[0], values[1], values[2])


def _measures(value: object) -> list[Decimal | None]:
    """The numbers of a link; some releases write those of RDMA as a list of its only thread."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    return [decimal(each) for each in value] if isinstance(value, list) else []


def _cost_power(operators: Iterable[_Operator]) -> int | None:
    """The power of ten that makes µs of costs and waits; None if their unit is unknown.

    MindSpore 1 writes ms, and bandwidths of SDMA in kB/s; later releases µs, and GB/s. Without SDMA
    the cost decides: in ms it is part of the time of the links, in µs far more.
    """
    cost, time = Decimal(0), Decimal(0)
    for each in operators:
        for link in each.links:
            time += link.time
            if link.transport == "SDMA" and link.time > 0 and link.size > 0 and link.bandwidth:
                return MS if link.bandwidth * link.time > link.size else 0
        cost += each.cost or 0
    if not cost or not time:
        return None
    return MS if cost < 100 * time else 0


def _collective(each: _Operator, power: int | None) -> dict[str, object]:
    kind = type_from_name(_PREFIX.sub("", each.name or "")).lower()
    return {
        "step": each.step,
        "kind": None if each.name is None else "p2p" if kind.startswith(P2P) else "collective",
        "name": each.name,
        "transit_us": None if power is None else number(each.cost, power),
        "wait_us": None if power is None else number(each.wait, power),
    }


def _link_row(each: _Operator, link: _Link) -> dict[str, object]:
    """Bandwidth is size over time: its unit differs between releases and transports."""
    gb_per_s = link.size / link.time / 1000 if link.time > 0 else None
    return {
        "step": each.step,
        "name": each.name,
        "source_rank": link.source,
        "destination_rank": link.destination,
        "transport": link.transport,
        "size_bytes": number(link.size, KILO),
        "time_us": number(link.time, MS),
        "bandwidth_gbps": None if gb_per_s is None else number(gb_per_s),
    }
