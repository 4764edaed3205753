"""What can be asked of a view, as declarations that every face follows.

A view declares its own parameters as ``PARAMETERS`` in its package (``views/<name>/__init__.py``,
which loads nothing else) and lists them in its :class:`~torch_tb_profiler.views.spec.ViewSpec`.
From there they are parameters of addresses, options of the command line, keyword arguments of the
Python API and of the view's function, keys of the JSON answers and types of the pages. What all
views share, the selected part of the recording, is declared here.

Nothing here may import polars: the command line needs its options before it reads anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from msgspec import Struct

from torch_tb_profiler.analysis.selection import SHOWN_CHARACTERS, SelectionError

ParameterType = Literal["text", "choice", "number", "time_us"]

_MAX_TIME_US = Decimal(2**62) / 1000
"""More than 146,000 years: as nanoseconds, such times fit into 64 bits."""


class Parameter(Struct, frozen=True):
    """The declaration of one parameter. A key means the same in every view that has it.

    Attributes:
        key: Stable name in addresses, JSON answers and Python; the option of the command line is
            ``--key`` with dashes for underscores.
        title: What precedes the value in the heading of a report.
        metavar: Placeholder of the value in ``--help``.
        help: What it asks for, as ``--help`` prints it.
        type: What its text means: ``text`` itself; one of ``choices``; a ``number``, which views
            get as float; or ``time_us``, microseconds of trace time, which views get as Decimal.
        choices: The values of a ``choice``.
        inherited: Whether a baseline takes the value of the candidate unless it has its own.
        has_baseline_option: Whether the command line has ``--baseline-…`` for it.
        persistent: Whether pages keep it from view to view, as a part of the selection.
    """

    key: str
    title: str
    metavar: str
    help: str
    type: ParameterType = "text"
    choices: tuple[str, ...] = ()
    inherited: bool = False
    has_baseline_option: bool = False
    persistent: bool = False

    @property
    def option(self) -> str:
        """Name of the option on the command line, without the leading dashes."""
        return self.key.replace("_", "-")

    def value(self, text: str) -> Any:
        """The value that ``text`` stands for; None for blank text of a number or time.

        Raises:
            SelectionError: it stands for none.
        """
        if self.type == "text":
            return text
        if self.type == "choice":
            return self._choice(text)
        if not text.strip():
            return None
        return self._number(text) if self.type == "number" else self._time_us(text)

    def _choice(self, text: str) -> str:
        if text not in self.choices:
            known = ", ".join(self.choices)
            raise SelectionError(f"{self.key}: {text[:SHOWN_CHARACTERS]!r} is none of {known}")
        return text

    def _number(self, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise SelectionError(f"{self.key}: {text[:SHOWN_CHARACTERS]!r} is no number")
        return number

    def _time_us(self, text: str) -> Decimal:
        try:
            # Exact: a float of µs since the epoch holds quarters of a µs only.
            time_us = Decimal(text.strip())
        except InvalidOperation:
            time_us = Decimal("nan")
        # Compared, never rounded first: an integer of 1e999999999 would fill the memory.
        if not (time_us.is_finite() and -_MAX_TIME_US < time_us < _MAX_TIME_US):
            raise SelectionError(
                f"{self.key}: {text[:SHOWN_CHARACTERS]!r} is no time in µs, such as 1250.5"
            )
        return time_us


def given_values(parameters: Iterable[Parameter], texts: Mapping[str, str]) -> dict[str, Any]:
    """Key → value of those of ``parameters`` that ``texts`` gives, for a view's function.

    Raises:
        SelectionError: a text stands for no value of its parameter.
    """
    return {each.key: each.value(texts[each.key]) for each in parameters if each.key in texts}


SELECTION = (
    Parameter(
        "iterations_by",
        "iterations by",
        "HOW",
        "what splits the recording into steps: default (its steps, else a clear key node), steps, "
        "auto, name:OPERATOR (where each call of it ends), start:OPERATOR",
        inherited=True,
        has_baseline_option=True,
        persistent=True,
    ),
    Parameter(
        "steps",
        "steps",
        "A:B",
        "steps: 5, 5:8 or 5-8 (both included), 3,5:8, 'first 3', 'last 3', or the name of a step",
        has_baseline_option=True,
        persistent=True,
    ),
    Parameter(
        "start_us",
        "from µs",
        "US",
        "time range: start",
        "time_us",
        has_baseline_option=True,
        persistent=True,
    ),
    Parameter(
        "end_us",
        "to µs",
        "US",
        "time range: end",
        "time_us",
        has_baseline_option=True,
        persistent=True,
    ),
    Parameter(
        "phase",
        "phase",
        "NAME",
        "only this phase of the steps: forward",
        inherited=True,
        persistent=True,
    ),
    Parameter(
        "forward_start",
        "forward from",
        "OPERATOR",
        "operator with which the forward pass begins",
        inherited=True,
        persistent=True,
    ),
    Parameter(
        "backward_end",
        "backward to",
        "OPERATOR",
        "operator with which the backward pass ends",
        inherited=True,
        persistent=True,
    ),
)
"""What chooses the part of a recording, for every view: the fields of ``analysis.selection``."""

SELECTION_TEXTS = tuple(each for each in SELECTION if each.type == "text")
"""Those that are the field of the selection as it is typed."""

# What several views ask, under one name.
AT_US = Parameter("at_us", "at µs", "US", "moment whose memory is listed", "time_us")
DOMAIN = Parameter("domain", "domain", "NAME", "only user ranges of this domain", persistent=True)
ITERATION = Parameter("iteration", "iteration", "N", "iteration whose operators are listed")
OPERATOR = Parameter(
    "operator",
    "operator name",
    "NAME",
    "operator whose device work is listed, with that of the calls inside it",
)
OPERATOR_ID = Parameter("operator_id", "operator", "ID", "operator whose kernels are listed")
PEAK = Parameter(
    "peak",
    "peaks given",
    "TYPE=TFLOPS,…",
    "what the device can reach: bfloat16=989.4,bandwidth_gb_per_s=3350",
)
PARALLEL = Parameter(
    "parallel",
    "parallel strategy",
    "SIZES",
    "how the job is divided, where its process groups do not say: tp=8,pp=4,dp=2, with cp=, ep=, "
    "fsdp= and order=megatron, torchtitan, deepspeed or tp-cp-ep-dp-pp",
)
