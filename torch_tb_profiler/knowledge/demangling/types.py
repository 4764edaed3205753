"""Types and expressions of a mangled name."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch_tb_profiler.knowledge.demangling.codes import (
    BINARY,
    BUILTIN_TYPES,
    LITERAL_SUFFIXES,
    OPERATORS,
    STANDARD_NAMES,
    UNARY,
)
from torch_tb_profiler.knowledge.demangling.letters import (
    DIGITS,
    LetterReader,
    TypeText,
    UnreadableError,
    joined,
)

QUALIFIERS = {"r": " restrict", "V": " volatile", "K": " const"}
POINTERS = {"P": "*", "R": "&", "O": "&&"}


class TypeReader(LetterReader, ABC):
    """Reads types; substitutions and template parameters are stored as texts."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text, at)
        self.substitutes: list[TypeText] = []
        self.arguments: list[TypeText] = []
        self.in_lambda = False
        self.plain_name = ""
        self._expands: int | None = None
        self._longest_pack: int | None = None

    @abstractmethod
    def encoding(self, *, is_enclosing: bool = False) -> str:
        """A function or an object; ``plain_name`` is its name if it is not a template."""

    @abstractmethod
    def class_name(self) -> str:
        """The name of a class or enumeration."""

    @abstractmethod
    def source_name(self) -> str:
        """An identifier."""

    @abstractmethod
    def template_arguments(self) -> tuple[str, list[TypeText]]:
        """``<int, 4>`` and the arguments one by one."""

    @abstractmethod
    def unqualified_name(self, enclosing: str) -> tuple[str, bool]:
        """One part of a name, and whether it is a constructor, destructor or conversion."""

    def type(self) -> TypeText:
        """Any type; it becomes a substitution unless it is builtin."""
        self.enter()
        code = self.peek(2) if self.peek() == "D" else self.peek()
        if code in BUILTIN_TYPES:
            self.at += len(code)
            self.leave()
            return TypeText(BUILTIN_TYPES[code])
        if code == "DF":
            self.leave()
            return TypeText(self._float_of_bits())
        if self.peek() == "S" and self.peek(2) != "St":
            text = self.substitution()
            if self.peek() != "I":
                self.leave()
                return text
            text = TypeText(str(text) + self.template_arguments()[0])
        else:
            text = self._composed()
        self.wrote(text.left + text.right)
        self.substitutes.append(text)
        self.leave()
        return text

    def _composed(self) -> TypeText:
        letter = self.peek()
        if letter in QUALIFIERS:
            qualifiers = self.qualifiers()
            inner = self.type()
            if inner.right.startswith("("):
                return TypeText(inner.left, inner.right + qualifiers)
            return TypeText(inner.left + qualifiers, inner.right)
        if letter in POINTERS:
            self.at += 1
            return pointer(self.type(), POINTERS[letter])
        if letter == "F":
            return self._function()
        if letter == "A":
            return self._array()
        if letter == "M":
            self.at += 1
            return pointer_to_member(str(self.type()), self.type())
        if letter == "T" and self.peek(2) not in ("Ts", "Tu", "Te"):
            return self._parameter_type()
        if letter == "D":
            return self._of_d()
        if self.take("u"):
            return TypeText(self.source_name())
        if self.take("U"):
            extension = self.source_name()
            return TypeText(f"{self.type()} {extension}")
        return TypeText(self.class_name())

    def qualifiers(self) -> str:
        """``rVK`` as written after a type."""
        letters = []
        while (letter := self.peek()) in QUALIFIERS:
            letters.append(QUALIFIERS[letter])
            self.at += 1
        return "".join(reversed(letters))

    def _function(self) -> TypeText:
        self.need("F")
        self.take("Y")
        returned = self.type()
        parameters = self.parameters()
        reference = " &&" if self.take("OE") else " &" if self.take("RE") else ""
        if not reference:
            self.need("E")
        return TypeText(f"{returned.left} ", f"({parameters}){reference}{returned.right}")

    def parameters(self) -> str:
        """Types up to, not including, an ``E``, or to the end."""
        types = []
        while not self.at_end() and self.peek(2) not in ("RE", "OE"):
            types.append(self.type())
        text = joined(types)
        return "" if text == "void" else self.wrote(text)

    def _array(self) -> TypeText:
        self.need("A")
        if self.peek() in DIGITS:
            size = str(self.number())
        else:
            size = "" if self.peek() == "_" else self.expression()
        self.need("_")
        inner = self.type()
        return TypeText(f"{inner.left} ", f"[{size}]{inner.right.lstrip()}")

    def _parameter_type(self) -> TypeText:
        text = self.template_parameter()
        if self.peek() != "I":
            return text
        self.substitutes.append(text)
        return TypeText(str(text) + self.template_arguments()[0])

    def _of_d(self) -> TypeText:
        code = self.peek(2)
        if code in ("Dt", "DT"):
            return TypeText(self.decltype())
        self.at += 2
        if code == "Dp":
            return self._expansion()
        if code == "Dv":
            size = str(self.number()) if self.peek() in DIGITS else self.expression()
            self.need("_")
            return TypeText(f"{self.type()} __vector({size})")
        if code == "Do":
            function = self._function()
            return function._replace(right=function.right + " noexcept")
        raise UnreadableError

    def _float_of_bits(self) -> str:
        self.need("DF")
        bits = self.number()
        if self.take("b"):
            return "std::bfloat16_t"
        self.need("_")
        return f"_Float{bits}"

    def _expansion(self) -> TypeText:
        """A type repeated for each argument of the pack in it."""
        start, outer, outer_pack = self.at, self._expands, self._longest_pack
        self._expands = self._longest_pack = None
        pattern = self.type()
        size, end, known = self._longest_pack, self.at, len(self.substitutes)
        if size is None:
            each = [pattern]
        else:
            each = []
            for number in range(size):
                self.at, self._expands = start, number
                each.append(self.type())
                del self.substitutes[known:]
        self.at, self._expands, self._longest_pack = end, outer, outer_pack
        return TypeText("", pack=tuple(each))

    def decltype(self) -> str:
        """``decltype (…)``."""
        self.at += 2
        value = self.expression()
        self.need("E")
        return f"decltype ({value})"

    def substitution(self) -> TypeText:
        """The substitution of ``S_`` and the like."""
        self.need("S")
        letter = self.peek()
        if letter in STANDARD_NAMES:
            self.at += 1
            return TypeText(STANDARD_NAMES[letter])
        number = self.index(36)
        if number >= len(self.substitutes):
            raise UnreadableError
        return self.substitutes[number]

    def template_parameter(self) -> TypeText:
        """The template argument of ``T_`` and the like."""
        self.need("T")
        number = self.index()
        if self.in_lambda:
            return TypeText(f"auto:{number + 1}")
        if number >= len(self.arguments):
            raise UnreadableError
        argument = self.arguments[number]
        if argument.pack is None:
            return argument
        if self._expands is None:
            self._longest_pack = len(argument.pack)
            return argument
        if self._expands >= len(argument.pack):
            raise UnreadableError
        return argument.pack[self._expands]

    # ------------------------------------------------------------ expressions

    def literal(self) -> str:
        """A value as template argument."""
        self.need("L")
        if self.take("_Z"):
            text = self.encoding()
            self.need("E")
            return text
        type_text = str(self.type())
        value = self.literal_value()
        if type_text == "bool" and value in ("0", "1"):
            return "true" if value == "1" else "false"
        if type_text in LITERAL_SUFFIXES:
            return value + LITERAL_SUFFIXES[type_text]
        if type_text in ("float", "double"):
            value = f"[{value}]"
        return f"({type_text}){value}"

    def expression(self) -> str:
        """An expression in a template argument, an array's size or a ``decltype``."""
        self.enter()
        text = self.wrote(self._expression())
        self.leave()
        return text

    def _expression(self) -> str:
        code = self.peek(2)
        if code[:1] == "L":
            return self.literal()
        if code[:1] == "T":
            return str(self.template_parameter())
        if code == "ad" and self.peek(5) == "adL_Z":
            self.at += 5
            text = self.encoding()
            self.need("E")
            return f"&{self.plain_name}" if self.plain_name else f"&({text})"
        if code in ("fp", "fL"):
            return self._function_parameter()
        if code[:1] in DIGITS or code in ("on", "sr"):
            return self._unresolved_name()
        self.at += 2
        if code in OPERATORS and OPERATORS[code][1] == UNARY:
            return f"{OPERATORS[code][0]}({self.expression()})"
        if code in ("dt", "pt"):
            return f"{self.expression()}{OPERATORS[code][0]}{self._unresolved_name()}"
        if code in OPERATORS and OPERATORS[code][1] == BINARY:
            return f"({self.expression()}){OPERATORS[code][0]}({self.expression()})"
        return self._call(code)

    def _call(self, code: str) -> str:
        if code == "qu":
            return f"({self.expression()})?({self.expression()}) : ({self.expression()})"
        if code == "st":
            return f"sizeof ({self.type()})"
        if code == "sz":
            return f"sizeof ({self.expression()})"
        if code == "sZ":
            pack = self.template_parameter().pack
            return f"sizeof...({len(pack)})" if pack is not None else "sizeof...(1)"
        if code == "sp":
            return self.expression()
        if code == "cl":
            return f"({self.expression()})({self._expressions()})"
        if code in ("tl", "il"):
            return f"{self.type() if code == 'tl' else ''}{{{self._expressions()}}}"
        if code == "cv":
            type_text = self.type()
            value = self._expressions() if self.take("_") else self.expression()
            return f"({type_text})({value})"
        raise UnreadableError

    def _expressions(self) -> str:
        texts = []
        while not self.take("E"):
            texts.append(self.expression())
        return ", ".join(texts)

    def _function_parameter(self) -> str:
        self.need("f")
        if self.take("L"):
            self.number()
        self.need("p")
        self.qualifiers()
        return "this" if self.take("T") else f"{{parm#{self.index() + 1}}}"

    def _unresolved_name(self) -> str:
        before = ""
        if self.take("sr"):
            before = f"{self.type()}::"
        self.take("on")
        text = before + self.unqualified_name("")[0]
        return text + self.template_arguments()[0] if self.peek() == "I" else text


def pointer(inner: TypeText, sign: str) -> TypeText:
    """A pointer or reference to ``inner``; references to references become one."""
    if inner.pack is not None:
        return TypeText("", pack=tuple(pointer(each, sign) for each in inner.pack))
    if sign != "*" and inner.left.endswith("&"):
        return inner if sign == "&&" else inner._replace(left=inner.left.rstrip("&") + "&")
    if inner.right.startswith(("(", "[")) and not inner.left.endswith(("*", "&")):
        gap = " " if inner.right.startswith("[") else ""
        return TypeText(f"{inner.left}({sign}", f"){gap}{inner.right}")
    return TypeText(inner.left + sign, inner.right)


def pointer_to_member(class_text: str, inner: TypeText) -> TypeText:
    """``int (A::*)(float)``."""
    if inner.right.startswith("("):
        return TypeText(f"{inner.left}({class_text}::*", f"){inner.right}")
    return TypeText(f"{inner.left} {class_text}::*", inner.right)
