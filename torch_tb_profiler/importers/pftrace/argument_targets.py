"""The columns that arguments are read into: those of Kineto's JSON, and some of this format only.

PyTorch's encoder uses the names of Kineto's JSON, except for those in :data:`OWN`; rocprofv3 has
its own names.
"""

from __future__ import annotations

import math
import re
from enum import Enum, auto
from typing import Any, NamedTuple

from torch_tb_profiler.importers.kineto.structs import (
    ABSENT_RAW,
    COLLECTIVE_FIELDS,
    COPY_FIELDS,
    DEVICE_FIELDS,
    LINK_FIELDS,
    MEMORY_FIELDS,
    NODE_FIELDS,
    NODE_NUMBERS,
    OPERATOR_FIELDS,
    PYTHON_FIELDS,
    STATED_FIELDS,
    ArgumentField,
    ArgumentFields,
)
from torch_tb_profiler.importers.kineto.tables import limiting_factors, stack_text
from torch_tb_profiler.importers.kineto.values import text_of
from torch_tb_profiler.trace.columns import ABSENT, TABLE_COLUMNS


class Form(Enum):
    """How a value is converted."""

    INT = auto()
    FLOAT = auto()
    TEXT = auto()
    LIST = auto()
    STACK = auto()
    LIMITS = auto()
    FLAG = auto()
    INDEX = auto()
    """The number at the end of a text such as ``"Agent-2"``."""


INT_FORMS = (Form.INT, Form.INDEX)


class Target(NamedTuple):
    """The column that an argument is read into.

    Attributes:
        table: A table of ``EventColumns``; ``"slices"`` for the links of slices.
        column: A column of that table; in ``"arguments"`` the name of the argument.
        form: How its values are converted.
        name: The name of the field, which decides the bounds.
    """

    table: str
    column: str
    form: Form
    name: str


COLUMN_OF: dict[str, str] = {
    "external_id_old": "external_id",
    "input_shape_old": "input_shape_code",
    "est_achieved_occupancy_pct_old": "est_achieved_occupancy_pct",
    "group_id": "group_code",
    "occupancy": "occupancy_limit_code",
    "kernel_flop": "flops",
}
"""Field → column, where the names differ."""

FORM_OF: dict[str, Form] = {
    "call_stack": Form.STACK,
    "occupancy": Form.LIMITS,
    "is_async": Form.FLAG,
}

TABLES: tuple[tuple[str, ArgumentFields], ...] = (
    ("slices", LINK_FIELDS),
    ("operator", OPERATOR_FIELDS),
    ("collective", COLLECTIVE_FIELDS),
    ("python", PYTHON_FIELDS),
    ("device", DEVICE_FIELDS),
    ("stated", STATED_FIELDS),
    ("memory", MEMORY_FIELDS),
)

OWN: dict[str, Target] = {
    "device id": Target("device", "device", Form.INT, "device"),
    "stream id": Target("device", "stream", Form.INT, "stream"),
    "registers_per_thread": Target(
        "device", "registers_per_thread", Form.INT, "registers_per_thread"
    ),
    "corr_id": Target("slices", "correlation", Form.INT, "correlation"),
    "copy_bytes": Target("device", "bytes", Form.INT, "bytes"),
    "agent": Target("device", "device", Form.INDEX, "device"),
    "dst_agent": Target("device", "device", Form.INDEX, "device"),
    "queue": Target("device", "stream", Form.INT, "stream"),
    "group_segment_size": Target("device", "shared_memory_bytes", Form.INT, "shared_memory_bytes"),
    **{
        key: Target("stated", "annotation_code", Form.TEXT, "annotation")
        for key in ("module_fqn", "fqn", "name", "str")
    },
}
"""The first three are PyTorch's names, the next ones rocprofv3's; the last are keys of annotations
of graph nodes, which PyTorch writes as separate arguments."""

NAMED: dict[str, Target] = {
    field.key: Target(
        "arguments", field.key, Form.FLOAT if name in NODE_NUMBERS else Form.TEXT, name
    )
    for name, field in (COPY_FIELDS | NODE_FIELDS).items()
}
"""Arguments that become rows of the table ``arguments``: in the order of Kineto's JSON."""

LAST_NUMBER = re.compile(r"(\d{1,9})\D*$")


def _form(name: str, field: ArgumentField) -> Form:
    if name in FORM_OF:
        return FORM_OF[name]
    if field.default is ABSENT_RAW:
        return Form.LIST
    if field.default is None:
        return Form.TEXT
    is_float = isinstance(field.default, float) and math.isnan(field.default)
    return Form.FLOAT if is_float else Form.INT


def _targets() -> dict[str, Target]:
    original = DEVICE_FIELDS["original_stream"].key
    targets = {original: Target("device", "stream", Form.INT, "stream")}
    for table, fields in TABLES:
        columns = TABLE_COLUMNS[table]
        for name, field in fields.items():
            column = COLUMN_OF.get(name, name if name in columns else f"{name}_code")
            if column in columns:
                targets[field.key] = Target(table, column, _form(name, field), name)
    return targets | OWN | NAMED


TARGETS: dict[str, Target] = _targets()
"""Name of an argument → its target. Of several for one column the first counts."""

ORDER: dict[str, int] = {key: index for index, key in enumerate(TARGETS)}
"""Name of an argument → its precedence, 0 the highest."""


def text_value(form: Form, value: Any) -> str | None:
    """A value as text, as the reader of Kineto's JSON converts it; None if it is absent."""
    if value is None:
        return None
    if form is Form.LIST:
        return str(value)
    if form is Form.STACK:
        return stack_text(text_of(value), reverse=False) or None
    if form is Form.LIMITS:
        return limiting_factors(value)
    return text_of(value) or None


def index_value(value: Any) -> int:
    """The number at the end of a text, or an integer itself; :data:`ABSENT` without one."""
    if isinstance(value, int):
        return int(value)
    match = LAST_NUMBER.search(text_of(value))
    return int(match[1]) if match else ABSENT
