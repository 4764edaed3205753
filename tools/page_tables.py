"""Write the tables in the documentation that say what code and data hold.

python tools/page_tables.py            # writes docs/flops.md (formulas), docs/safety.md (limits),
                                       # docs/sql.md (raw tables, examples)
python tools/page_tables.py --check    # only says whether they are those of today
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from torch_tb_profiler.budget import LIMITS, Limit
from torch_tb_profiler.knowledge.formulas import KINDS, Formula, formulas
from torch_tb_profiler.knowledge.sql import sql_rules
from torch_tb_profiler.sql.tables import IDENTITY, RAW, RAW_TABLES
from torch_tb_profiler.views.schema import Column

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZES_BYTES = (1e6, 1e8, 1e10)


class PageTable(Struct, frozen=True):
    """A table between two marks of a page.

    Attributes:
        page: The page.
        name: What is in it; part of its marks.
        lines: Makes it, in Markdown.
    """

    page: Path
    name: str
    lines: Callable[[], Iterator[str]]

    def current(self, text: str) -> str:
        """The page with the table of today.

        Args:
            text: The page as it is.
        """
        begin = f"<!-- {self.name}: tools/page_tables.py -->"
        end = f"<!-- end of the {self.name} -->"
        before, _, rest = text.partition(begin)
        table = "\n".join(self.lines())
        return f"{before}{begin}\n\n{table}\n{end}{rest.partition(end)[2]}"


def formula_lines() -> Iterator[str]:
    """The formulas by kind."""
    for kind in KINDS:
        of_kind = [formula for formula in formulas() if formula.kind == kind]
        if of_kind:
            yield from (f"### {kind.capitalize()}", "", "| operators | counted |", "|---|---|")
            yield from (f"| {_names(formula)} | {formula.counts} |" for formula in of_kind)
            yield ""


def _names(formula: Formula) -> str:
    patterns = [] if formula.pattern is None else [formula.pattern.replace("|", "\\|")]
    return ", ".join(f"`{name}`" for name in (*formula.operators, *patterns))


def limit_lines() -> Iterator[str]:
    """The limits of the budget, for files of some sizes."""
    yield from (
        "| key | limit | for a file of 1 MB, 100 MB, 10 GB | beyond it |",
        "|---|---|---|---|",
    )
    for key, limit in LIMITS.items():
        yield f"| `{key}` | {limit.what} | {_values(limit)} | {limit.consequence} |"
    yield ""


def _values(limit: Limit) -> str:
    return " · ".join(dict.fromkeys(f"{limit.value(size):,.0f}" for size in SIZES_BYTES))


def raw_table_lines() -> Iterator[str]:
    """The raw tables of SQL with their columns."""
    yield from ("Every table begins with:", "", *_column_lines(IDENTITY), "")
    for table in RAW_TABLES:
        yield from (f"### `{RAW}.{table.spec.name}`", "", table.spec.help, "")
        yield from (*_column_lines(table.spec.columns), "")


def _column_lines(columns: Iterable[Column]) -> Iterator[str]:
    yield from ("| column | type | unit | meaning |", "|---|---|---|---|")
    for column in columns:
        yield f"| `{column.key}` | {column.type} | {column.unit or ''} | {column.help} |"


def example_lines() -> Iterator[str]:
    """The examples of queries."""
    for example in sql_rules().example:
        yield from (f"**{example.title}.** {example.help}", "", "```sql")
        yield from (example.query.strip(), "```", "")


TABLES = (
    PageTable(DOCS / "flops.md", "formulas", formula_lines),
    PageTable(DOCS / "safety.md", "limits", limit_lines),
    PageTable(DOCS / "sql.md", "raw tables", raw_table_lines),
    PageTable(DOCS / "sql.md", "examples", example_lines),
)


def main(arguments: list[str]) -> int:
    """0 where the pages are those of today, or were written."""
    is_any_old = False
    for table in TABLES:
        text = table.page.read_text(encoding="utf-8")
        if "--check" not in arguments:
            table.page.write_text(table.current(text), encoding="utf-8")
        elif table.current(text) != text:
            is_any_old = True
            print(f"{table.page} is old: run python tools/page_tables.py", file=sys.stderr)
    return int(is_any_old)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
