"""Colours of a terminal: whole lines are coloured after they are laid out, so widths stay true."""

from __future__ import annotations

from msgspec import Struct

_RESET = "\x1b[0m"


class Style(Struct, frozen=True):
    """What stands before what is strong, a warning, and beside the matter (SGR sequences of
    `ECMA-48 <https://ecma-international.org/publications-and-standards/standards/ecma-48/>`_);
    empty for none."""

    strong: str = ""
    warning: str = ""
    aside: str = ""

    def paint(self, before: str, text: str) -> str:
        """``text``, each line of it with ``before`` in front; blank lines stay blank."""
        if not before:
            return text
        lines = text.split("\n")
        return "\n".join(f"{before}{line}{_RESET}" if line.strip() else line for line in lines)


PLAIN = Style()
COLOURED = Style(strong="\x1b[1m", warning="\x1b[1;33m", aside="\x1b[2m")
"""The terminal's own colours, so light and dark ones are readable alike."""
