"""Write the table of limits in docs/safety.md from torch_tb_profiler/budget.py.

python tools/limits_table.py            # writes it
python tools/limits_table.py --check    # only tells whether it is that of today
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from torch_tb_profiler.budget import LIMITS, Limit

PAGE = Path(__file__).resolve().parent.parent / "docs" / "safety.md"
BEGIN, END = "<!-- limits: tools/limits_table.py -->", "<!-- end of the limits -->"


def table() -> str:
    """The limits, in Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from (
        "| key | limit | for a file of 1 MB, 100 MB, 10 GB | beyond it |",
        "|---|---|---|---|",
    )
    for key, limit in LIMITS.items():
        yield f"| `{key}` | {limit.what} | {_values(limit)} | {limit.consequence} |"
    yield ""


def _values(limit: Limit) -> str:
    values = dict.fromkeys(f"{limit.value(size):,.0f}" for size in (1e6, 1e8, 1e10))
    return " · ".join(values)


def current(text: str) -> str:
    """The page with the table of today.

    Args:
        text: The page as it is.
    """
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table()}\n{END}{rest.partition(END)[2]}"


def main(arguments: list[str]) -> int:
    """0 where the page is that of today, or was written."""
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in arguments:
        if is_old := current(text) != text:
            print(f"{PAGE} is old: run python tools/limits_table.py", file=sys.stderr)
        return int(is_old)
    PAGE.write_text(current(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
