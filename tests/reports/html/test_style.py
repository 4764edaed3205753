"""The style of a notebook's output reaches nothing else; both themes have the same colours."""

from __future__ import annotations

import re

from torch_tb_profiler.reports.html.style import NOTEBOOK_CLASS, notebook_style, page_style


def _outer_selectors(style: str) -> list[str]:
    """The selectors that stand in no other rule; those of ``@media`` count as such."""
    selectors, start, stack = [], 0, list[str]()
    plain = re.sub(r"/\*.*?\*/", "", style, flags=re.S)
    for at, character in enumerate(plain):
        if character == "{":
            selector = plain[start:at].strip()
            if not any(not each.startswith("@") for each in stack):
                selectors.append(selector)
            stack.append(selector)
        elif character == "}":
            stack.pop()
        if character in "{};":
            start = at + 1
    assert not stack
    return [selector for selector in selectors if not selector.startswith("@")]


def test_every_rule_is_about_the_output() -> None:
    selectors = _outer_selectors(notebook_style())
    assert len(selectors) > 6
    assert {each for each in selectors if not each.endswith(f".{NOTEBOOK_CLASS}")} == set()
    assert ":root" not in notebook_style()


def test_the_theme_of_the_notebook_comes_after_that_of_the_system() -> None:
    style = notebook_style()
    system = style.index("prefers-color-scheme")
    assert system < style.index('data-jp-theme-light="true"')
    assert style.count("--bg: #15181c") == style.count("--bg: #fbfbfa") == 2


def test_both_themes_have_the_same_variables() -> None:
    page = page_style()
    light, dark = page.split("prefers-color-scheme: dark", 1)
    assert light.count("--") > 20
    names = re.findall(r"(--[\w-]+):", light)
    assert names == re.findall(r"(--[\w-]+):", dark)
    used = set(re.findall(r"var\((--[\w-]+)", page)) - {"--p"}  # of a cell
    assert used <= set(names)
