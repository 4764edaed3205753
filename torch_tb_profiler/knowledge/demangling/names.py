"""Names of functions, classes and lambdas in a mangled name."""

from __future__ import annotations

import re
from typing import NamedTuple

from torch_tb_profiler.knowledge.demangling.codes import OPERATORS
from torch_tb_profiler.knowledge.demangling.letters import (
    DIGITS,
    TypeText,
    UnreadableError,
    joined,
)
from torch_tb_profiler.knowledge.demangling.types import TypeReader

ANONYMOUS = re.compile(r"_GLOBAL_[._$]N")
"""Names of anonymous namespaces."""


class MangledName(NamedTuple):
    """A name, with what its type needs to know.

    Attributes:
        text: The name, its template arguments included.
        qualifiers: Qualifiers of a member function: `` const``.
        arguments: The template arguments at its end; None for none.
        is_special: Whether it is a constructor, destructor or conversion, without a return type.
    """

    text: str
    qualifiers: str = ""
    arguments: list[TypeText] | None = None
    is_special: bool = False


class MangledNameReader(TypeReader):
    """Reads a whole mangled name."""

    def encoding(self, *, is_enclosing: bool = False) -> str:
        """A function or an object, up to the end or an ``E``.

        Args:
            is_enclosing: Whether it encloses another name: then no return type is written.
        """
        self.enter()
        outer, outer_lambda = self.arguments, self.in_lambda
        self.in_lambda = False
        name = self.name()
        text = name.text
        if not self.at_end():
            self.arguments = name.arguments or []
            returned = None
            if name.arguments is not None and not name.is_special:
                returned = self.type()
            text += f"({self.parameters()}){name.qualifiers}"
            if returned is not None and not is_enclosing:
                gap = "" if returned.right else " "
                text = f"{returned.left}{gap}{text}{returned.right}"
        self.arguments, self.in_lambda = outer, outer_lambda
        self.plain_name = name.text if name.arguments is None else ""
        self.leave()
        return self.wrote(text)

    def name(self) -> MangledName:
        """A name of any kind."""
        if self.take("N"):
            return self._nested()
        if self.take("Z"):
            return self._local()
        special = False
        if self.peek() == "S" and self.peek(2) != "St":
            text = str(self.substitution())
        else:
            before = "std::" if self.take("St") else ""
            part, special = self.unqualified_name("")
            text = before + part
            if self.peek() == "I":
                self.substitutes.append(TypeText(text))
        if self.peek() == "I":
            written, arguments = self.template_arguments()
            return MangledName(text + written, "", arguments, special)
        return MangledName(text, is_special=special)

    def class_name(self) -> str:
        """The name of a class or enumeration."""
        if self.peek() == "T":
            self.at += 2
        name = self.name()
        return name.text

    def _nested(self) -> MangledName:
        qualifiers = self.qualifiers()
        qualifiers += " &&" if self.take("O") else " &" if self.take("R") else ""
        text, last = "", ""
        arguments: list[TypeText] | None = None
        special = False
        while not self.take("E"):
            is_new = True
            if text and self.peek() == "I":
                written, arguments = self.template_arguments()
                text += written
            elif text:
                last, special = self.unqualified_name(last)
                text, arguments = f"{text}::{last}", None
            else:
                text, last, is_new = self._first_part()
            self.take("M")
            self.wrote(text)
            if is_new and self.peek() != "E":
                self.substitutes.append(TypeText(text))
        if not text:
            raise UnreadableError
        return MangledName(text, qualifiers, arguments, special)

    def _first_part(self) -> tuple[str, str, bool]:
        """The start of a nested name, its last part, and whether it is a new substitution."""
        if self.take("St"):
            return "std", "std", False
        if self.peek() == "S":
            text = str(self.substitution())
            return text, last_part(text), False
        if self.peek() == "T":
            text = str(self.template_parameter())
            return text, last_part(text), True
        if self.peek(2) in ("Dt", "DT"):
            return self.decltype(), "", True
        text = self.unqualified_name("")[0]
        return text, text, True

    def _local(self) -> MangledName:
        function = self.encoding(is_enclosing=True)
        self.need("E")
        if self.take("s"):
            self._discriminator()
            return MangledName(f"{function}::string literal")
        if self.take("d"):
            self.index()
        name = self.name()
        self._discriminator()
        return name._replace(text=self.wrote(f"{function}::{name.text}"))

    def _discriminator(self) -> None:
        if self.take("__"):
            self.number()
            self.need("_")
        elif self.peek() == "_" and self.peek(2)[1:] in DIGITS:
            self.at += 2

    def unqualified_name(self, enclosing: str) -> tuple[str, bool]:
        """One part of a name, and whether it is a constructor, destructor or conversion."""
        self.take("L")
        letters = self.peek(2)
        special = False
        if letters[:1] in DIGITS:
            text = self.source_name()
        elif letters == "Ul":
            text = self._lambda()
        elif self.take("Ut"):
            text = f"{{unnamed type#{self.index() + 1}}}"
        elif letters[:1] in ("C", "D") and letters[1:] in DIGITS and enclosing:
            self.at += 2
            text, special = ("~" if letters[0] == "D" else "") + enclosing, True
        elif self.take("cv"):
            text, special = f"operator {self.type()}", True
        elif self.take("li"):
            text = f'operator"" {self.source_name()}'
        elif letters in OPERATORS:
            self.at += 2
            symbol = OPERATORS[letters][0]
            text = f"operator{' ' if symbol[0].isalpha() else ''}{symbol}"
        else:
            raise UnreadableError
        while self.take("B"):
            text += f"[abi:{self.source_name()}]"
        return self.wrote(text), special

    def source_name(self) -> str:
        """An identifier."""
        size = self.number()
        name = self.peek(size)
        if not size or len(name) < size:
            raise UnreadableError
        self.at += size
        return "(anonymous namespace)" if ANONYMOUS.match(name) else name

    def _lambda(self) -> str:
        self.need("Ul")
        outer, self.in_lambda = self.in_lambda, True
        parameters = self.parameters()
        self.in_lambda = outer
        self.need("E")
        return f"{{lambda({parameters})#{self.index() + 1}}}"

    def template_arguments(self) -> tuple[str, list[TypeText]]:
        """``<int, 4>`` and the arguments one by one."""
        self.need("I")
        outer, self.in_lambda = self.in_lambda, False
        arguments: list[TypeText] = []
        while not self.take("E"):
            arguments.append(self._argument())
        self.in_lambda = outer
        inside = joined(arguments)
        return self.wrote(f"<{inside}{' ' if inside.endswith('>') else ''}>"), arguments

    def _argument(self) -> TypeText:
        if self.take("X"):
            value = self.expression()
            self.need("E")
            return TypeText(value)
        if self.peek() == "L":
            return TypeText(self.literal())
        if self.take("J"):
            pack = []
            while not self.take("E"):
                pack.append(self._argument())
            return TypeText("", pack=tuple(pack))
        return self.type()


def last_part(text: str) -> str:
    """``"b"`` of ``"a::b<int>"``: the name of a constructor of that class."""
    return text.split("<", maxsplit=1)[0].rsplit("::", 1)[-1]
