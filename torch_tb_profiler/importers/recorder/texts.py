"""The dictionary of texts of a trace, while it grows."""

from __future__ import annotations


class Texts:
    """Gives each text its code: its place among the strings."""

    def __init__(self, strings: list[str]) -> None:
        """Begin with some strings; new ones are added to the list."""
        self._strings = strings
        self._codes = {text: code for code, text in enumerate(strings)}

    def code(self, text: str) -> int:
        """The code of a text."""
        code = self._codes.setdefault(text, len(self._strings))
        if code == len(self._strings):
            self._strings.append(text)
        return code
