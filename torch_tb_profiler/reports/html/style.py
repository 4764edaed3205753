"""The style of the report as a page, and of an output of a notebook, from the same rules."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

NOTEBOOK_CLASS = "torch-tb-profiler"
"""Class of the element that holds an output; the style reaches nothing outside it."""

_THEMES = {
    "light": '[data-jp-theme-light="true"], body.vscode-light, html[theme="light"]',
    "dark": '[data-jp-theme-light="false"], body.vscode-dark, html[theme="dark"]',
}
"""How JupyterLab, VS Code and Colab mark the theme of a notebook."""


@cache
def page_style() -> str:
    """The style of a report as a page of its own; follows the system's theme."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{_rules('dark')}}}\n"
    return "".join((_rules("light"), dark, _rules("parts"), _rules("page")))


@cache
def notebook_style() -> str:
    """The style of an output; follows the notebook's theme, else the system's."""
    own = f".{NOTEBOOK_CLASS}"
    light, dark = _colours("light", own), _colours("dark", own)
    themes = "".join(_colours(theme, f":is({marks}) {own}") for theme, marks in _THEMES.items())
    system = f"@media (prefers-color-scheme: dark) {{\n{dark}}}\n"
    # The class twice: the rules win over those of the notebook, wherever its style stands.
    rules = f"{own}{own} {{\n{_rules('notebook')}{_rules('parts')}}}\n"
    return "".join((light, system, themes, rules))


def _colours(theme: str, selector: str) -> str:
    scheme = f"{selector} {{ color-scheme: {theme}; }}\n"
    return _rules(theme).replace(":root", selector) + scheme


def _rules(name: str) -> str:
    return files("torch_tb_profiler.reports.html").joinpath(f"{name}.css").read_text("utf-8")
