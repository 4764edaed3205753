"""DuckDB's errors as problems for people: what and where, and the next step."""

from __future__ import annotations

import re

from torch_tb_profiler.requests.errors import Problem
from torch_tb_profiler.sql.limits import SqlLimits
from torch_tb_profiler.sql.statement import position_text

_KIND = re.compile(r"^[A-Z][A-Za-z ]* Error: ")
_MARK = re.compile(r"\n+LINE \d+:.*|\s+Candidate functions:.*", re.DOTALL)
_NEAR = re.compile(r"(?:Candidate bindings: |Did you mean )(.*?)(?:\n|$)", re.DOTALL)
_CANDIDATE = re.compile(r'"([^"]+)"')
MAX_MESSAGE = 300


def problem_of(error: BaseException, text: str, limits: SqlLimits | None = None) -> Problem:
    """The problem that an error of DuckDB stands for.

    Args:
        error: The error.
        text: The query.
        limits: Its limits, where it ran.
    """
    name = type(error).__name__
    if name in ("OutOfMemoryException", "MemoryError") or "bad allocation" in str(error):
        return memory_problem(limits or SqlLimits())
    whole = str(error)
    message = " ".join(_MARK.sub("", _KIND.sub("", whole)).split())
    near = _NEAR.search(whole)
    names = list(dict.fromkeys(_CANDIDATE.findall(near[1]))) if near else []
    hint = f"Did you mean {' or '.join(names[:3])}?" if names else _hint(name)
    if near:
        message = " ".join(_KIND.sub("", whole[: near.start()]).split())
    where = _where(whole, text)
    message = message[:MAX_MESSAGE].rstrip(".!")
    code = "sql_column" if name == "BinderException" and names else "sql_failed"
    return Problem(code, f"{message}{where}.", hint)


def memory_problem(limits: SqlLimits) -> Problem:
    """The query needs more memory than its limit."""
    message = f"The query needs more memory than {limits.memory_bytes / 1e9:g} GB."
    hint = "Select fewer rows or columns before joining or sorting, or raise --memory-limit."
    return Problem("sql_memory", message, hint)


def time_problem(limits: SqlLimits) -> Problem:
    """The query takes longer than its limit."""
    message = f"The query takes longer than {limits.time_s:g} s."
    hint = "Restrict the rows before joining them, or raise --time-limit."
    return Problem("sql_time", message, hint)


def _hint(name: str) -> str:
    if name == "ConversionException":
        return "TRY_CAST gives null for a value that cannot be converted."
    return "The dialect is DuckDB's: docs/sql.md."


def _where(whole: str, text: str) -> str:
    """Line and column, from the mark below the quoted line of the query."""
    match = re.search(r"\nLINE (\d+): (.*)\n( *)\^", whole)
    if match is None:
        return ""
    prefix = len(f"LINE {match[1]}: ")
    lines = text.split("\n")
    number = int(match[1]) - 1
    if number >= len(lines):
        return ""
    shown = match[2].removeprefix("...").removesuffix("...")
    first = lines[number].find(shown)
    skipped = 3 if match[2].startswith("...") else 0
    column = max(0, first) + len(match[3]) - prefix - skipped
    before = "\n".join(lines[:number]) + ("\n" if number else "") + lines[number][:column]
    return f" ({position_text(text, len(before.encode()))})"
