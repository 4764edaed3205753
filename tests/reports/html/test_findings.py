"""Findings of a report link to the documentation only where it has a site."""

from __future__ import annotations

import pytest

from torch_tb_profiler.knowledge.documentation import SITE_VARIABLE
from torch_tb_profiler.reports.html.findings import findings_markup
from torch_tb_profiler.views.schema import Note

LINK = "https://pytorch.org/docs"


@pytest.mark.parametrize(
    ("code", "links", "site", "shown"),
    [
        ("straggler", [], "", []),
        ("straggler", [LINK], "", [LINK]),
        ("straggler", [], "https://docs.example/", ["https://docs.example/advice.html#straggler"]),
        (
            "straggler",
            [LINK],
            "https://docs.example",
            ["https://docs.example/advice.html#straggler", LINK],
        ),
        ("of_a_plugin", ["javascript:alert(1)"], "https://docs.example", []),
    ],
)
def test_links_of_a_finding(
    code: str, links: list[str], site: str, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SITE_VARIABLE, site)
    markup, _ = findings_markup([Note("advice", code, "warning", "Text.", {"links": links})])
    assert [part.partition('"')[0] for part in str(markup).split('href="')[1:]] == shown
