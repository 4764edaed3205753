"""Asks the product about a job, as a user would, and compares with the truth."""

from __future__ import annotations

import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch_tb_profiler
import torch_tb_profiler.api
from bench.cluster.dumps import write_dumps
from bench.cluster.hangs import make_hanging_job
from bench.cluster.jobs import NONE, make_case, truth, write_case


@dataclass(frozen=True)
class Verdict:
    """One job, judged.

    Attributes:
        seed, ranks: Make the job again, with its cause.
        cause: What was planted; ``none``, a key of ``CAUSES`` or one of ``HANGS``.
        is_decidable: Whether the files hold the answer.
        truth: The part of the truth that is compared, for people.
        answer: What the product says first, for people; empty where it names nothing.
        cause_right, location_right: Of what it says first; of a healthy job whether it names
            nothing.
        pattern_right: Whether it says when; None where that is not asked.
        other_causes: How many more it names.
        true_pct, est_pct: What the cause costs, of the step; the second as the product says.
        seconds: That the product took.
    """

    seed: int
    ranks: int
    cause: str
    is_decidable: bool
    truth: str
    answer: str
    cause_right: bool
    location_right: bool
    pattern_right: bool | None
    other_causes: int
    true_pct: float
    est_pct: float | None
    seconds: float

    @property
    def is_right(self) -> bool:
        """Cause and location."""
        return self.cause_right and self.location_right


def use_one_thread() -> None:
    """For a process beside others that judge: before the product is asked first."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")


def judge(kind: str, seed: int, ranks: int, cause: str) -> Verdict:
    """Judge a job of a kind: ``slow``, ``healthy``, ``hang`` or ``layout``.

    An error of the product is a wrong answer.
    """
    try:
        return _judge(kind, seed, ranks, cause)
    except torch_tb_profiler.api.LoadingError as error:
        return _failed(seed, ranks, cause, str(error))


def _failed(seed: int, ranks: int, cause: str, message: str) -> Verdict:
    return Verdict(
        seed=seed, ranks=ranks, cause=cause, is_decidable=True, truth="", answer=message,
        cause_right=False, location_right=False, pattern_right=None, other_causes=0,
        true_pct=0.0, est_pct=None, seconds=0.0,
    )  # fmt: skip


def _judge(kind: str, seed: int, ranks: int, cause: str) -> Verdict:
    if kind == "hang":
        return judge_hang(seed, ranks, cause)
    if kind == "layout":
        return judge_layout(seed, ranks)
    return judge_slow(seed, ranks, NONE if kind == "healthy" else cause)


def judge_slow(seed: int, ranks: int, cause: str) -> Verdict:
    """Make a job with a cause (``none``, ``random``) and ask for the causes of slow ranks."""
    case = make_case(seed, ranks, cause)
    known = truth(case)
    with tempfile.TemporaryDirectory(prefix="cluster") as name:
        folder = Path(name)
        write_case(case, folder)
        since = time.monotonic()
        rows = _rows(folder, "ranks", "slow_ranks")
        seconds = time.monotonic() - since
    first = rows[0] if rows else None
    shown = {key: known[key] for key in ("level", "node", "switch", "stage", "pattern", "size")}
    shown["ranks"] = ranks_text(known["ranks"])
    wrong_healthy = case.cause == NONE and first is not None
    return Verdict(
        seed=seed,
        ranks=ranks,
        cause=case.cause,
        is_decidable=True,
        truth=str({key: value for key, value in shown.items() if value is not None}),
        answer="" if first is None else _sentence(first),
        cause_right=not wrong_healthy if case.cause == NONE else cause_matches(first, known),
        location_right=not wrong_healthy if case.cause == NONE else location_matches(first, known),
        pattern_right=None if case.cause == NONE or first is None else _pattern(first, known),
        other_causes=max(0, len(rows) - 1),
        true_pct=known["cost_pct"],
        est_pct=None if first is None else first.get("cost_pct"),
        seconds=seconds,
    )


def judge_hang(seed: int, ranks: int, kind: str) -> Verdict:
    """Make the dumps of a job that hangs and ask why."""
    hang = make_hanging_job(seed, ranks, kind)
    with tempfile.TemporaryDirectory(prefix="cluster") as name:
        folder = Path(name)
        known = write_dumps(hang, folder, seed)
        since = time.monotonic()
        with torch_tb_profiler.open_trace(str(folder), cache=False) as trace:
            view = trace.view("hang")
            rows = view.table("hang_groups").to_dicts()
            answer = view.answer or ""
        seconds = time.monotonic() - since
    roots = [row for row in rows if row["is_root"]]
    # Either group of a deadlock may come first.
    named = [row for row in roots[: 2 if hang.kind == "order" else 1] if names_call(row, known)]
    blamed = set[int]().union(*(blamed_ranks(row, known) for row in named))
    keys = ("kind", "rank", "description", "sequence", "operation", "members", "without_dump")
    return Verdict(
        seed=seed,
        ranks=ranks,
        cause=hang.kind,
        is_decidable=known["is_decidable"],
        truth=str({key: known[key] for key in keys}),
        answer=answer,
        cause_right=bool(named),
        location_right=known["rank"] in blamed,
        pattern_right=None,
        other_causes=max(0, len(roots) - 1),
        true_pct=0.0,
        est_pct=None,
        seconds=seconds,
    )


def judge_layout(seed: int, ranks: int) -> Verdict:
    """Make a healthy job and ask for its parallel strategy.

    The cause is how its groups are named. It is right if each dimension divides the ranks as it
    does in the job, and no other one is named; the location if no rank has another index.
    """
    case = make_case(seed, ranks, NONE)
    topology = case.job.topology
    shape = topology.shape
    true = {
        name: column.tolist()
        for name, column, size in (
            ("pipeline", topology.stage, shape.pipeline),
            ("data", topology.replica, shape.data),
            ("expert", topology.expert, shape.expert),
            ("tensor", topology.tensor, shape.tensor),
        )
        if size > 1
    }
    with tempfile.TemporaryDirectory(prefix="cluster") as name:
        folder = Path(name)
        write_case(case, folder)
        since = time.monotonic()
        rows = sorted(_rows(folder, "strategy", "rank_matrix"), key=lambda row: row["rank"])
        seconds = time.monotonic() - since
    columns = ("pipeline", "data", "context", "expert", "tensor")
    named = {name: [row[name] for row in rows] for name in columns}
    named = {name: values for name, values in named.items() if any(v is not None for v in values)}
    divides = {name: _divides_alike(named.get(name), values) for name, values in true.items()}
    return Verdict(
        seed=seed,
        ranks=ranks,
        cause=shape.naming,
        is_decidable=True,
        truth=str({"data": shape.data, "tensor": shape.tensor, "pipeline": shape.pipeline,
                   "expert": shape.expert, "sharding": shape.sharding}),
        answer=str({name: max(v for v in values if v is not None) + 1
                    for name, values in named.items()}),
        cause_right=all(divides.values()) and set(named) <= set(true),
        location_right=all(named.get(name) == values for name, values in true.items()),
        pattern_right=None,
        other_causes=0,
        true_pct=0.0,
        est_pct=None,
        seconds=seconds,
    )  # fmt: skip


def _divides_alike(named: list[int | None] | None, true: list[int]) -> bool:
    """Whether two numberings put the same ranks together."""
    if named is None or len(named) != len(true):
        return False
    pairs = set(zip(named, true, strict=True))
    return len(pairs) == len(set(named)) == len(set(true))


def names_call(row: dict[str, Any], known: dict[str, Any]) -> bool:
    """Whether a row is about the collective of the truth, or about the pair of its transfer.

    The dumps do not say in which of the calls that wait for it a dead rank would have been first:
    any one will do.
    """
    if known["kind"] == "dead":
        return known["rank"] in parse_ranks(row["no_dump_ranks"])
    if known["is_transfer"]:
        return {known["rank"], known["peer"]} <= (
            parse_ranks(row["waiting_ranks"]) | parse_ranks(row["blocking_ranks"])
        )
    is_same = parse_ranks(row["ranks"]) == set(known["members"])
    return bool(is_same and row["sequence"] == known["sequence"])


def blamed_ranks(row: dict[str, Any], known: dict[str, Any]) -> set[int]:
    """The ranks that a row says are waited for, or do not fit.

    Where two ranks wait to receive from each other, the dumps do not say which one should send.
    """
    columns = ["blocking_ranks", "no_dump_ranks", *["waiting_ranks"] * known["is_transfer"]]
    return set[int]().union(*(parse_ranks(row[column]) for column in columns))


def _rows(folder: Path, view: str, table: str) -> list[dict[str, Any]]:
    with torch_tb_profiler.open_trace(str(folder), cache=False) as trace:
        return trace.view(view).table(table).to_dicts()


def cause_matches(row: dict[str, Any] | None, known: dict[str, Any]) -> bool:
    """Whether a row of ``slow_ranks`` names the cause, and of a pause what it is."""
    if row is None or row["cause"] != known["product_cause"]:
        return False
    return known["detail"] is None or row.get("detail") == known["detail"]


def location_matches(row: dict[str, Any] | None, known: dict[str, Any]) -> bool:
    """Whether a row names where it is.

    All of the ranks that are struck and no other; of a node or switch its name will do. Of tokens
    that a replica or an expert has more of, the named ranks must be struck: a replica is half
    named at least, and of the ranks that hold the same experts one group is enough.
    """
    if row is None:
        return False
    struck, named = set(known["ranks"]), parse_ranks(row["ranks"])
    if named == struck:
        return True
    name = known.get("node") or known.get("switch")
    if known["level"] in ("node", "switch") and row["level"] == known["level"]:
        return bool(name) and name in (row["location"] or "").split()
    if not named or not named <= struck:
        return False
    if known["level"] == "expert":
        return True
    return known["cause"] == "uneven_tokens" and len(named) * 2 >= len(struck)


def _pattern(row: dict[str, Any], known: dict[str, Any]) -> bool:
    return bool(row["pattern"] == known["pattern"])


def _sentence(row: dict[str, Any]) -> str:
    parts = (row["cause"], row["level"], row["location"], f"ranks {row['ranks']}", row["pattern"])
    return f"{', '.join(map(str, parts))}: {row.get('evidence')}"


_RANGE = re.compile(r"(\d+)(?:[-–](\d+)(?:/(\d+))?)?")


def parse_ranks(text: str | None) -> set[int]:
    """The ranks of a text such as ``40-47, 50, 60-72/4`` (every fourth)."""
    ranks: set[int] = set()
    for part in (text or "").split(","):
        if match := _RANGE.fullmatch(part.strip()):
            first, last, every = match.groups()
            ranks.update(range(int(first), int(last or first) + 1, int(every or 1)))
    return ranks


def ranks_text(ranks: list[int]) -> str:
    """The other way round."""
    parts: list[list[int]] = []
    for rank in sorted(ranks):
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
