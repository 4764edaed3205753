"""Codes of the Itanium C++ ABI's mangling.

Source: https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.
"""

from __future__ import annotations

BUILTIN_TYPES: dict[str, str] = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
    "g": "__float128",
    "z": "...",
    "Dd": "decimal64",
    "De": "decimal128",
    "Df": "decimal32",
    "Dh": "half",
    "Di": "char32_t",
    "Ds": "char16_t",
    "Du": "char8_t",
    "Da": "auto",
    "Dc": "decltype(auto)",
    "Dn": "decltype(nullptr)",
}
"""Types without substitutions."""

LITERAL_SUFFIXES: dict[str, str] = {
    "int": "",
    "unsigned int": "u",
    "long": "l",
    "unsigned long": "ul",
    "long long": "ll",
    "unsigned long long": "ull",
}
"""Types whose literals are written as numbers; other types are written as casts."""

STANDARD_NAMES: dict[str, str] = {
    "a": "std::allocator",
    "b": "std::basic_string",
    "s": "std::string",
    "i": "std::istream",
    "o": "std::ostream",
    "d": "std::iostream",
}
"""``Sa`` and the like."""

UNARY = 1
BINARY = 2
TERNARY = 3
OPERATORS: dict[str, tuple[str, int]] = {
    "nw": ("new", TERNARY),
    "na": ("new[]", TERNARY),
    "dl": ("delete", UNARY),
    "da": ("delete[]", UNARY),
    "ps": ("+", UNARY),
    "ng": ("-", UNARY),
    "ad": ("&", UNARY),
    "de": ("*", UNARY),
    "co": ("~", UNARY),
    "nt": ("!", UNARY),
    "pp": ("++", UNARY),
    "mm": ("--", UNARY),
    "pl": ("+", BINARY),
    "mi": ("-", BINARY),
    "ml": ("*", BINARY),
    "dv": ("/", BINARY),
    "rm": ("%", BINARY),
    "an": ("&", BINARY),
    "or": ("|", BINARY),
    "eo": ("^", BINARY),
    "aS": ("=", BINARY),
    "pL": ("+=", BINARY),
    "mI": ("-=", BINARY),
    "mL": ("*=", BINARY),
    "dV": ("/=", BINARY),
    "rM": ("%=", BINARY),
    "aN": ("&=", BINARY),
    "oR": ("|=", BINARY),
    "eO": ("^=", BINARY),
    "ls": ("<<", BINARY),
    "rs": (">>", BINARY),
    "lS": ("<<=", BINARY),
    "rS": (">>=", BINARY),
    "eq": ("==", BINARY),
    "ne": ("!=", BINARY),
    "lt": ("<", BINARY),
    "gt": (">", BINARY),
    "le": ("<=", BINARY),
    "ge": (">=", BINARY),
    "ss": ("<=>", BINARY),
    "aa": ("&&", BINARY),
    "oo": ("||", BINARY),
    "cm": (",", BINARY),
    "pm": ("->*", BINARY),
    "pt": ("->", BINARY),
    "dt": (".", BINARY),
    "cl": ("()", BINARY),
    "ix": ("[]", BINARY),
    "qu": ("?", TERNARY),
}
"""Code → symbol of the operator and number of operands in an expression."""
