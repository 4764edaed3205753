"""HTML elements from trusted names and untrusted texts: the one place where texts are escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from torch_tb_profiler.reports.text import visible

_EMPTY = frozenset({"base", "br", "meta"})
"""Elements that HTML writes without an end tag."""

_SHAPES = frozenset({"line", "path", "polyline", "rect"})
"""Elements of SVG that close themselves where they hold no title."""


class Markup(str):
    """HTML that is safe to write as it is."""

    __slots__ = ()


Child = str | None
"""A :class:`Markup` is written as it is, any other text escaped; None is left out."""


def text(value: str) -> Markup:
    """``value`` as text that nothing acts on: control characters and bidirectional marks visible,
    no markup."""
    return Markup(html.escape(visible(value), quote=True))


def joined(children: Iterable[Child], between: str = "") -> Markup:
    """All ``children`` one after the other, with the text ``between`` in between."""
    pieces = (each if isinstance(each, Markup) else text(each) for each in children if each)
    return Markup(text(between).join(pieces))


def element(name: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """``<name …>children</name>``.

    Args:
        name: Its name.
        children: What it holds.
        attributes: By name, ``class_`` for ``class`` and ``_`` for ``-``; None leaves one out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{given}>")
    if name in _SHAPES and not children:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{joined(children)}</{name}>")


def frame(document: str, title: str, height_px: int) -> Markup:
    """A whole HTML document within a page. Nothing in it runs, sends or reaches that page; its
    links open in a window of their own.

    Args:
        document: The document, safe or not.
        title: What it is.
        height_px: How high the frame is.
    """
    rights = "allow-popups allow-popups-to-escape-sandbox"
    source = html.escape(document, quote=True)
    return Markup(
        f'<iframe sandbox="{rights}" title="{text(title)}" height="{height_px}"'
        f' srcdoc="{source}"></iframe>'
    )


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _attribute(value: str | float) -> str:
    return text(value) if isinstance(value, str) else number(value)
