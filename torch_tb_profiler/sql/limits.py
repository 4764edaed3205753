"""Limits of one query (as a table: docs/sql.md#limits)."""

from __future__ import annotations

from msgspec import Struct

MAX_TEXT = 20_000
"""Characters of a query."""

MAX_COLUMNS = 1000
"""Columns of an answer."""

MAX_ANSWER_BYTES = 256 << 20
"""Size of an answer."""

MAX_DEPTH = 250
"""Nested expressions of a query."""

MAX_THREADS = 4
"""Threads of a query."""

MAX_TIME_S = 3600.0
MAX_MEMORY_GB = 1024.0


class SqlLimits(Struct, frozen=True):
    """What one query may use.

    Attributes:
        time_s: Seconds to compute the answer from the tables; views are computed before.
        memory_bytes: Memory of the query, besides the tables that it reads.
        rows: Rows of the answer; further ones are left out, with a note.
    """

    time_s: float = 30.0
    memory_bytes: int = 10**9
    rows: int = 10_000
