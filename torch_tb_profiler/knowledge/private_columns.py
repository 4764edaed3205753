"""What cells of tables hold, as far as their table and column say so: the key of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torch_tb_profiler.knowledge.scrubbing import StringReference, scrubbing_file


def column_key(table: str, column: str) -> str:
    """The key under which the texts of a column go.

    >>> column_key("PROCESSES", "name"), column_key("StringIds", "value")
    ('process_name', 'value')
    """
    for rule in scrubbing_file().tables.columns:
        if column in rule.keys and _matches(rule.tables, table):
            return rule.keys[column]
    return column


def name_and_value(table: str, columns: Sequence[str]) -> tuple[int, int] | None:
    """The positions of name and value in a table whose rows are such pairs; None elsewhere."""
    for rule in scrubbing_file().tables.values:
        if rule.name in columns and rule.value in columns and _matches(rule.tables, table):
            return columns.index(rule.name), columns.index(rule.value)
    return None


def pair_key(name: str) -> str:
    """The key under which the value of a name goes.

    >>> pair_key("PROCESS_0:ENVIRONMENT_VARIABLE_3"), pair_key("EXPORT_PRODUCT_VERSION")
    ('environment', 'EXPORT_PRODUCT_VERSION')
    """
    last = name.rpartition(":")[2]
    patterns = scrubbing_file().tables.names.items()
    return next((key for key, pattern in patterns if _matches(pattern, last)), last)


def string_references() -> tuple[StringReference, ...]:
    """Columns that refer to texts which have a key by that."""
    return scrubbing_file().tables.strings


def has_plain_texts(table: str) -> bool:
    """Whether the texts of a table are no names of the program."""
    return _matches(scrubbing_file().tables.plain, table)


def is_read_member(path: str) -> bool:
    """Whether views read a file of a folder that is one recording.

    >>> is_read_member("ASCEND_PROFILER_OUTPUT/kernel_details.csv"), is_read_member("notes.csv")
    (True, False)
    """
    return any(re.fullmatch(each, path) for each in scrubbing_file().members.patterns)


def _matches(pattern: str, table: str) -> bool:
    return re.fullmatch(pattern, table, re.IGNORECASE) is not None
