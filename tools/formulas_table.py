"""Write the table of formulas in docs/flops.md from torch_tb_profiler/knowledge/formulas.toml.

python tools/formulas_table.py            # writes it
python tools/formulas_table.py --check    # only tells whether it is that of today
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from torch_tb_profiler.knowledge.formulas import KINDS, Formula, formulas

PAGE = Path(__file__).resolve().parent.parent / "docs" / "flops.md"
BEGIN, END = "<!-- formulas: tools/formulas_table.py -->", "<!-- end of the formulas -->"


def table() -> str:
    """The formulas by kind, in Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for kind in KINDS:
        of_kind = [formula for formula in formulas() if formula.kind == kind]
        if of_kind:
            yield from (f"### {kind.capitalize()}", "", "| operators | counted |", "|---|---|")
            yield from (f"| {_names(formula)} | {formula.counts} |" for formula in of_kind)
            yield ""


def _names(formula: Formula) -> str:
    patterns = [] if formula.pattern is None else [formula.pattern.replace("|", "\\|")]
    return ", ".join(f"`{name}`" for name in (*formula.operators, *patterns))


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
            print(f"{PAGE} is old: run python tools/formulas_table.py", file=sys.stderr)
        return int(is_old)
    PAGE.write_text(current(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
