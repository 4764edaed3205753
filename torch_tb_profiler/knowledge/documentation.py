"""The addresses of tables, columns and findings in the documentation.

They are those of the site where one is known, else files of the repository
(``docs/advice.md#launch_bound``): an address never leads to a host that has no such page.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from torch_tb_profiler.knowledge.advice import entries
from torch_tb_profiler.knowledge.damage import damages
from torch_tb_profiler.knowledge.files import load
from torch_tb_profiler.once import once

SITE_URL: str | None = None
"""The public address of the built ``docs/``, ending in a slash; None while there is none."""

SITE_VARIABLE = "TORCH_TB_PROFILER_DOCS_URL"
"""Environment variable with the address of a site of one's own."""

EVIDENCE = "advice"
"""What takes the place of a view's name in the addresses of evidence tables."""

_COLUMNS_PAGE = "columns"
_ADVICE_PAGE = "advice"


class DocumentationFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The schema of ``documentation.toml``: page → codes of the findings that it describes."""

    pages: Mapping[str, tuple[str, ...]]


def table_anchor(view: str, table: str) -> str:
    """The anchor of a view's table in ``columns.md``."""
    return f"{view}.{table}"


def column_anchor(view: str, table: str, column: str) -> str:
    """The anchor of a column in ``columns.md``: that of its table, a dot and its key."""
    return f"{table_anchor(view, table)}.{column}"


def table_address(view: str, table: str) -> str:
    """Where a table is described: a URL, or a file of the repository with an anchor."""
    return _address(_COLUMNS_PAGE, table_anchor(view, table))


def column_address(view: str, table: str, column: str) -> str:
    """Where a column is described: a URL, or a file of the repository with an anchor.

    Args:
        view: Name of the view; :data:`EVIDENCE` for the evidence of a finding.
        table: Name of the table; the code of the finding for its evidence.
        column: Key of the column.
    """
    return _address(_COLUMNS_PAGE, column_anchor(view, table, column))


def finding_address(code: str) -> str | None:
    """Where a finding is described; None for a code that the documentation does not have."""
    page = finding_pages().get(code)
    return None if page is None else _address(page, code)


def evidence_address(code: str) -> str | None:
    """Where the rows of a finding are described; None for findings of a view, whose rows are those
    of its tables."""
    is_documented = finding_pages().get(code) == _ADVICE_PAGE
    return table_address(EVIDENCE, code) if is_documented else None


@once
def finding_pages() -> Mapping[str, str]:
    """Code of a finding → the page that describes it, without folder and suffix."""
    declared = load("documentation.toml", DocumentationFile).pages
    pages = {code: page for page, codes in declared.items() for code in codes}
    pages |= dict.fromkeys(entries(), _ADVICE_PAGE)
    return pages | {damage.code: _ADVICE_PAGE for damage in damages()}


def _address(page: str, anchor: str) -> str:
    site = site_url()
    return f"docs/{page}.md#{anchor}" if site is None else f"{site}{page}.html#{anchor}"


def site_url() -> str | None:
    """The address of the site, ending in a slash; None for none. Other schemes than HTTP do not
    count: pages that are served may not link to files."""
    chosen = os.environ.get(SITE_VARIABLE, "").strip()
    if chosen.startswith(("https://", "http://")):
        return chosen.rstrip("/") + "/"
    return SITE_URL
