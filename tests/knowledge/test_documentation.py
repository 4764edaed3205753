"""Every address that the package gives leads to an anchor of the documentation."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from torch_tb_profiler.api import open_trace
from torch_tb_profiler.detectors import detector_codes, evidence_tables
from torch_tb_profiler.knowledge import documentation
from torch_tb_profiler.knowledge.documentation import (
    EVIDENCE,
    SITE_VARIABLE,
    column_address,
    evidence_address,
    finding_address,
    finding_pages,
    site_url,
    table_address,
)
from torch_tb_profiler.views.registry import all_views

ROOT = Path(__file__).parents[2]
ANCHOR = re.compile(r'(?<!`)<a id="([^"]+)"></a>')


@pytest.fixture(autouse=True)
def no_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SITE_VARIABLE, raising=False)


def anchors_of(page: str) -> Counter[str]:
    """The explicit anchors of a page of ``docs/``."""
    return Counter(ANCHOR.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")))


def all_columns() -> Iterator[tuple[str, str, str]]:
    """View, table and column of everything that is documented."""
    for view in all_views().values():
        for table in view.tables:
            for column in table.columns:
                yield view.name, table.name, column.key
    for code, table in evidence_tables().items():
        for column in table.columns:
            yield EVIDENCE, code, column.key


def test_every_table_and_column_has_an_anchor_of_its_own() -> None:
    anchors = anchors_of("columns")
    columns = list(all_columns())
    assert len(columns) > 2000
    expected = {column_address(*each) for each in columns}
    expected |= {table_address(view, table) for view, table, _ in columns}
    assert {f"docs/columns.md#{anchor}" for anchor in anchors} == expected
    assert set(anchors.values()) == {1}


def test_the_row_of_an_anchor_is_that_of_the_column() -> None:
    text = (ROOT / "docs" / "columns.md").read_text(encoding="utf-8")
    assert '| <a id="kernels.kernels.total_us"></a>`total_us` | Total | number | us |' in text
    rows = re.findall(r'^\| <a id="([^"]+)"></a>`(\w+)` ', text, re.MULTILINE)
    assert len(rows) == len(list(all_columns()))
    assert all(anchor.endswith(f".{key}") for anchor, key in rows)


@pytest.mark.parametrize("code", sorted(finding_pages()))
def test_every_finding_has_an_anchor_on_its_page(code: str) -> None:
    page = finding_pages()[code]
    assert finding_address(code) == f"docs/{page}.md#{code}"
    assert anchors_of(page)[code] == 1, f'docs/{page}.md: add <a id="{code}"></a>'


def test_no_anchor_is_left_of_a_finding_that_is_gone() -> None:
    pages = finding_pages()
    for page in set(pages.values()):
        assert set(anchors_of(page)) == {code for code, its in pages.items() if its == page}


def advice_codes() -> set[str]:
    """The codes of notes with the kind ``advice`` in the source, where they are written out."""
    codes = set()
    for path in (ROOT / "torch_tb_profiler").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            code: ast.expr | None = None
            if node.func.id == "Note" and len(node.args) > 1:
                kind, code = node.args[:2]
                code = code if isinstance(kind, ast.Constant) and kind.value == "advice" else None
            elif node.func.id == "AdviceKind":
                code = node.args[0]
            if isinstance(code, ast.Constant):
                codes.add(str(code.value))
            elif isinstance(code, ast.Name):
                codes.add(str(constants[code.id]))
    return codes


def test_every_code_of_advice_in_the_source_has_an_address() -> None:
    codes = advice_codes()
    assert len(codes) > 20
    assert codes <= finding_pages().keys()
    assert set(detector_codes()) <= finding_pages().keys()


def test_findings_and_tables_of_a_recording_have_their_address(samples: Path) -> None:
    (path,) = samples.glob("h100_bert_small/*.gz")
    with open_trace(path, cache=False) as session:
        answer = session.view("overview").to_dict()
    findings = {note["code"]: note["evidence"] for note in answer["notes"]}
    assert findings["launch_bound"]["help_url"] == "docs/advice.md#launch_bound"
    table = findings["launch_bound"]["table"]
    addresses = {f"{table['help_url']}.{column['key']}" for column in table["columns"]}
    assert len(addresses) > 1
    assert {address.partition("#")[2] for address in addresses} <= anchors_of("columns").keys()
    address = answer["tables"]["top_kernels"]["help_url"]
    assert address == "docs/columns.md#overview.top_kernels"
    assert anchors_of("columns")[f"{address.partition('#')[2]}.name"] == 1


def test_the_evidence_of_every_finding_has_an_address_if_it_is_declared() -> None:
    addresses = {code: evidence_address(code) for code in finding_pages()}
    declared = {code for code, address in addresses.items() if address is not None}
    assert declared == set(evidence_tables())
    assert addresses["straggler"] == "docs/columns.md#advice.straggler"


def test_unknown_codes_have_none() -> None:
    assert finding_address("of_a_plugin") is None
    assert evidence_address("of_a_plugin") is None


@pytest.mark.parametrize(
    ("chosen", "site"),
    [
        ("", None),
        ("https://docs.example/profiler", "https://docs.example/profiler/"),
        (" http://docs.example/ ", "http://docs.example/"),
        ("file:///home/me/site/", None),
        ("javascript:alert(1)", None),
    ],
)
def test_a_site_of_ones_own(chosen: str, site: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documentation, "SITE_URL", None)
    monkeypatch.setenv(SITE_VARIABLE, chosen)
    assert site_url() == site
    if site is not None:
        assert finding_address("straggler") == f"{site}advice.html#straggler"
        address = column_address("kernels", "kernels", "name")
        assert address == f"{site}columns.html#kernels.kernels.name"
